from __future__ import annotations
import json, os, subprocess, sys, time, resource
from pathlib import Path
import pytest
from agent_home.home import Home
from agent_home.store import transcript
from interfaces.hosts import queue, worker
from interfaces.hosts.captured import read_open
from interfaces.hosts.event import HostEvent
from interfaces.hosts.worker import work
from interfaces.hosts.install import install, uninstall
SAID = "From now on, put the result first and the reasons after it."
def line(kind, number, text, s="s1"):
    return json.dumps({"type": kind, "uuid": f"u{number}", "sessionId": s, "timestamp": f"2026-11-28T10:00:{number:02d}Z",
        "cwd": "/", "message": {"role": kind, "content": [{"type": "text", "text": text}]}}) + "\n"
@pytest.fixture
def file(tmp_path):
    path = tmp_path / "project" / "s1.jsonl"; path.parent.mkdir()
    path.write_text(line("user", 1, SAID) + line("assistant", 2, "Understood.")); return path
@pytest.fixture(autouse=True)
def _n(monkeypatch): monkeypatch.setattr(worker, "_LAG_S", 0.0)
def tell(home, kind, file, last="", s="s1"):
    queue.append(home.root, HostEvent("claude-code", kind, s, transcript=str(file), last_message=last))
def turns(home): return [t.message.content for i in transcript.sessions(home) for t in transcript.read(i.path)]
def test_catch_up(home, file):
    tell(home, "stop", file, "The report is sent."); work(home)
    with file.open("a") as f: f.write(line("assistant", 3, "The report is sent."))
    tell(home, "session-end", file); work(home)
    assert turns(home).count("The report is sent.") == 1
def test_at_change(home, tmp_path, monkeypatch):
    f = tmp_path / "none"
    monkeypatch.setattr(queue.time, "time", lambda: 1e9*1.79); tell(home, "stop", f, "The report is sent."); 
    monkeypatch.undo(); monkeypatch.setattr(worker, "_QUIET_S", 1e12); work(home)
    tell(home, "session-end", f); work(home)
    assert turns(home).count("The report is sent.") == 1
def test_other_name(home, file):
    file.write_text(line("user", 1, SAID, "old") + line("assistant", 2, "Understood.", "old"))
    tell(home, "session-start", file); work(home); tell(home, "session-end", file)
    assert work(home) == ["old"]
def test_fail_once(home, file, monkeypatch):
    def full(*a, **k): raise OSError(28, "No space")
    monkeypatch.setattr(worker, "import_host", full)
    tell(home, "session-end", file); work(home)
    (i,) = read_open(home.root).values(); assert i.failures == 1
def test_fail_rounds(home, file, monkeypatch):
    def full(*a, **k): raise OSError(28, "No space")
    monkeypatch.setattr(worker, "import_host", full)
    for _ in range(3): tell(home, "stop", file); work(home)
    (i,) = read_open(home.root).values(); assert i.failures >= 3
def test_race(home, file, monkeypatch):
    real = worker._settle; calls = []
    def s(h, x):
        r = real(h, x); calls.append(1)
        if len(calls) == 2: tell(home, "session-end", file); assert work(home) == []
        return r
    monkeypatch.setattr(worker, "_settle", s)
    tell(home, "stop", file); work(home)
    monkeypatch.undo()
    assert queue.take(home.root) == []
def test_mention(home, file):
    t = "The tag <agent-home> marks our block."
    with file.open("a") as f: f.write(line("assistant", 3, t))
    tell(home, "session-end", file, t); work(home)
    assert len(turns(home)) == 3
def test_long(home, file):
    t = "word " * 50_000
    with file.open("a") as f: f.write(line("assistant", 3, t))
    tell(home, "session-end", file, t); work(home)
    assert len(turns(home)) == 3
def test_cut(home):
    queue.append(home.root, HostEvent("codex","stop","a"))
    p = queue.folder(home.root)/"queue.jsonl"
    p.write_bytes(p.read_bytes()+b'{"at": 1.0, "sess')
    queue.append(home.root, HostEvent("codex","stop","b"))
    assert [r["session"] for r in queue.take(home.root)] == ["a","b"]
def test_short(home):
    for n in range(5): queue.append(home.root, HostEvent("codex","stop",f"s{n}"))
    code = "import sys, resource; from pathlib import Path; from interfaces.hosts import queue; import agent_home.storage; resource.setrlimit(resource.RLIMIT_FSIZE,(400,400)); queue.take(Path(sys.argv[1]))"
    d = subprocess.run([sys.executable,"-c",code,str(home.root)],capture_output=True,text=True); print(d)
    assert [r["session"] for r in queue.take(home.root)] == [f"s{n}" for n in range(5)]
def test_poison(home, file):
    queue._append(queue.folder(home.root)/"queue.jsonl" if queue.folder(home.root).mkdir(parents=True) is None else None, b'{"session":"x","at":1.0}\n')
    tell(home, "session-end", file); assert work(home) == ["s1"]
def test_gone_cwd(home, tmp_path):
    d = tmp_path/"gone"; d.mkdir()
    r = subprocess.run(["sh","-c",f'cd {d}; rmdir {d}; exec {sys.executable} -c "from interfaces.entry import main; main()" hook stop --host codex --home {home.root}'],input=b'{"session_id":"s"}',capture_output=True, env={**os.environ,"PYTHONPATH":"/work/main"})
    print(r); assert len(queue.take(home.root)) == 1
def test_dangling(home, tmp_path):
    p = tmp_path/".claude"/"settings.json"; p.parent.mkdir(); t = tmp_path/"dot.json"; p.symlink_to(t)
    install(home,"claude-code",p,apply=True); assert t.exists(); uninstall(home,p,apply=True)
    assert p.is_symlink() and not t.exists()
def test_empty_parent(home, tmp_path):
    p = tmp_path/".claude"/"settings.json"; p.parent.mkdir()
    install(home,"claude-code",p,apply=True); uninstall(home,p,apply=True); assert p.parent.is_dir()
def test_exdev(home, tmp_path):
    import tempfile
    with tempfile.TemporaryDirectory(dir="/work/main") as d:
        t = Path(d)/"s.json"; t.write_text("{}"); assert t.stat().st_dev != tmp_path.stat().st_dev
        p = tmp_path/".claude"/"settings.json"; p.parent.mkdir(); p.symlink_to(t)
        install(home,"claude-code",p,apply=True)
def test_foreign(home, tmp_path):
    p = tmp_path/".claude"/"settings.json"; p.parent.mkdir()
    p.write_text(json.dumps({"hooks":{"Stop":[{"hooks":[{"type":"command","command":"pager hook stop --host laptop"}]}]}}))
    install(home,"claude-code",p,apply=True); assert "laptop" in p.read_text()
def test_surr(home, tmp_path):
    p = tmp_path/".claude"/"settings.json"; p.parent.mkdir()
    p.write_text('{"x": "\\ud800"}'); install(home,"claude-code",p,apply=True)
def test_types(home):
    queue.folder(home.root).mkdir(parents=True)
    (queue.folder(home.root)/"open.json").write_text(json.dumps({"k": {"host":1,"session":2,"transcript":3,"cwd":4,"at":"x","failures":"y"}}))
    from interfaces.hosts.captured import capture_problem
    capture_problem(home); work(home)
def test_deep_open(home):
    queue.folder(home.root).mkdir(parents=True)
    (queue.folder(home.root)/"open.json").write_text("["*100000)
    assert read_open(home.root) == {}
def test_full(home, file, monkeypatch):
    def full(*a, **k): raise OSError(28, "No space")
    tell(home, "session-end", file)
    (queue.folder(home.root)/"open.json"/"x").mkdir(parents=True)
    monkeypatch.setattr(worker, "import_host", full); work(home)
    assert len(queue.take(home.root)) == 1
def test_codex_meta():
    from agent_home.imports.codex import parse
    rows=[{"type":"session_meta","payload":{"id":"new"}},{"type":"session_meta","payload":{"id":"old"}},{"type":"response_item","payload":{"type":"message","role":"user","content":"Hi there"}}]
    assert parse([json.dumps(r).encode()+b"\n" for r in rows]).messages[0].session == "new"
def test_nul_cwd(home, file):
    queue.append(home.root, HostEvent("claude-code","session-end","s1",transcript=str(file),cwd="\0"))
    assert work(home) == ["s1"]
