"""What a session did for a project goes to the project: what worked and what failed, and proposals for its other files.

A project is a folder ``Projects/NAME/`` of the home. A turn worked on it when its folder lies in it, or in a git
repository of that name or that a file of the project names (``Repository: PATH``). A session without such a turn worked
on it when its user and agent wrote ``Projects/NAME`` in two turns or more, one of them the user's, and named no other
project. Tools decide nothing.

Others may read ``Projects/`` than memory, so little goes there: work that git confirms, what was tried and failed and
why, and lessons, as part of the closing and with their turns; decisions only as proposals to PRODUCT, TECH or PROJECT.
Preferences, what USER.md says, personal matters and whatever the guard would touch stay out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_home import storage
from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.screening.service import ScreeningService
from agent_home.store.gateway import Transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.transcript import Turn
from guard import Action
from recall.text.identity import identity_key

from .evidence.status import Evidence
from .learning.evolution import REDACTION_PREFIX
from .review.entry_proposals import rejected_or_pending
from .statements.names import names_in, prose_of
from .statements.risk import risk_of
from .statements.sentences import split_title
from .summary.cues import ItemKind
from .summary.extraction import Item

__all__ = ["IMPROVEMENT", "PROJECTS", "ProjectUpdate", "projects_by_turn", "update_projects"]

PROJECTS, IMPROVEMENT = "Projects", "IMPROVEMENT.md"
#: The sections of IMPROVEMENT.md, by the kind of item that goes there. Of deliverables only what git confirms does.
_SECTIONS: Mapping[ItemKind, str] = {
    "deliverable": "What worked",
    "rejected": "What failed",
    "root_cause": "What failed",
    "lesson": "Lessons",
}
_DECISIONS = "Decisions"
_MOST_OF_A_SECTION, _MOST_PROPOSED = 5, 5
#: Turns that have to name a project where no folder tells.
_LEAST_MENTIONS = 2
_TRUSTED = frozenset({"user", "agent"})

_REPOSITORY = re.compile(
    r"^[-*\s]*\**(?:Repository|Repo|仓库)\**\s*:\**\s*`?(?P<path>[~/][^`\n]+?)`?\s*$", re.MULTILINE
)
_TECH = re.compile(
    r"\b(?:apis?|database|schema|index|librar(?:y|ies)|framework|cache|queue|server|deploy\w*|architecture|protocol|"
    r"python|rust|sqlite|postgres\w*|docker|ci|tests?|branch|modules?|packages?|dependenc\w+|refactor\w*|migrat\w+)\b"
    r"|架构|数据库|接口|部署|缓存|技术|框架|模块|代码|测试|索引|依赖|重构|迁移",
    re.IGNORECASE,
)
_PRODUCT = re.compile(
    r"\b(?:users?|customers?|pric(?:e|es|ing)|market\w*|personas?|features?|scope|requirements?|non-?goals?|goals?|"
    r"vision|audience|competitors?)\b|用户|客户|定价|价格|功能|需求|范围|目标|愿景|竞品",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"\b(?:wife|husband|spouse|girlfriend|boyfriend|kids?|daughter|son|mother|father|mom|dad|birthday|salary|"
    r"doctor|hospital|illness|diagnos\w+|therap(?:y|ist)|medication|pregnan\w+|divorc\w+|religio\w+|home address|"
    r"passport|bank account|vacation|sick leave)\b|\bI (?:\w+ )?(?:prefer|like|love|hate|dislike)\b|\bmy preference\b"
    r"|妻子|老婆|丈夫|老公|孩子|女儿|儿子|父亲|母亲|爸爸|妈妈|生日|工资|薪水|年薪|生病|看病|病假|体检|医院|医生|怀孕|离婚|住址|"
    r"护照|身份证|银行卡|请假|休假|我(?:个人)?(?:更|比较|一向|一直)?(?:偏好|喜欢|讨厌|习惯)",
    re.IGNORECASE,
)
_USER_VALUE = re.compile(r"^[-*\s]*\**[^:*\n]{1,40}\**\s*[:\uff1a]\**\s*(?P<value>[^\n]+)$", re.MULTILINE)
_LINE = re.compile(r"- (?:\d{4}-\d{2}-\d{2}: )?(?P<text>.*?) \((?P<sources>[^()]*#[^()]*)\)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUpdate:
    """What a closing did for projects: the files that gained something, and what waits for a person."""

    paths: tuple[str, ...] = ()
    drafts: tuple[ProposalDraft, ...] = ()


def update_projects(
    edits: Transaction,
    items: Sequence[Item],
    turns: Sequence[Turn],
    evidence: Mapping[Item, Evidence],
    origins: Mapping[Item, str],
    *,
    date: str,
    title_chars: int,
) -> ProjectUpdate:
    """Write what *items* say of the projects that *turns* worked on, as part of a closing, and propose the decisions.

    What a file says already gains the source and no second line. *date* stands in for a turn without a time.
    """
    home = edits.home
    worked_on = projects_by_turn(home, turns)
    fit = [item for item in items if not item.corrected and origins.get(item, "agent") in _TRUSTED]
    mine = [(item, worked_on[item.sources[-1]]) for item in fit if item.sources[-1] in worked_on]
    if not mine:
        return ProjectUpdate()
    is_personal = _personal(edits)
    paths: list[str] = []
    for name in dict.fromkeys(project for _, project in mine):
        path = f"{PROJECTS}/{name}/{IMPROVEMENT}"
        document = parse(edits.text(path) or _head(name))
        kept = list(_improvements([item for item, project in mine if project == name], evidence))
        for section in dict.fromkeys(_SECTIONS.values()):
            found = [item for item in kept if _SECTIONS[item.kind] == section and not is_personal(path, item.text)]
            for item in found[:_MOST_OF_A_SECTION]:
                document = _with_line(document, section, item, evidence.get(item), item.ts[:10] or date)
        if document.render() != (edits.text(path) or _head(name)):
            edits.write(path, document)
            paths.append(path)
    decisions = [(item, project) for item, project in mine if item.kind == "decision"]
    return ProjectUpdate(paths=tuple(paths), drafts=tuple(_drafts(
        edits, decisions, evidence, origins, is_personal, date=date, title_chars=title_chars
    )))  # fmt: skip


def projects_by_turn(home: Home, turns: Sequence[Turn]) -> dict[str, str]:
    """The project that each turn worked on, by the turn's source; turns that worked on none are absent."""
    names = _names(home)
    if not names:
        return {}
    folders = dict.fromkeys(turn.message.cwd for turn in turns if turn.message.cwd)
    by_folder = {cwd: name for cwd in folders if (name := _of_folder(home, cwd, names))}
    found = {t.message.source: by_folder[t.message.cwd] for t in turns if t.message.cwd in by_folder}
    only = next(iter(found.values())) if len(set(found.values())) == 1 else ""
    if not found:
        only = _mentioned(turns, names)
    elsewhere = {cwd for cwd in folders if cwd not in by_folder}
    # Of one project alone, turns without a folder are about it as well; a turn in another folder is not.
    others = {t.message.source: only for t in turns if only and t.message.cwd not in elsewhere}
    return {**others, **found}


def _names(home: Home) -> list[str]:
    folder = home.root / PROJECTS
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path.name for path in paths if path.is_dir() and path.name.isprintable() and not path.name.startswith(".")]


def _of_folder(home: Home, cwd: str, names: Sequence[str]) -> str:
    """The project that the folder *cwd* belongs to; empty where there is none, or more than one."""
    folder = Path(cwd)
    if folder.is_relative_to(home.root / PROJECTS):
        inside = folder.relative_to(home.root / PROJECTS).parts
        return inside[0] if inside and inside[0] in names else ""
    top = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)
    named = [name for name in names if top in _repositories(home, name)]
    alike = [name for name in names if _spelled(name) == _spelled(top.name)]
    found = named or alike
    return found[0] if len(found) == 1 else ""


def _repositories(home: Home, name: str) -> set[Path]:
    """The folders that the project's own files call its repositories."""
    files = sorted((home.root / PROJECTS / name).glob("*.md"))
    texts = (storage.read_text(home.path(home.relative(file))) for file in files)
    return {Path(m["path"].rstrip("/")).expanduser() for text in texts for m in _REPOSITORY.finditer(text)}


def _spelled(name: str) -> str:
    return re.sub(r"[\s_.-]+", "-", name.casefold())


def _mentioned(turns: Sequence[Turn], names: Sequence[str]) -> str:
    """The one project that the user and the agent wrote of by its path, often enough; else empty."""
    by_project: dict[str, list[str]] = {}
    for turn in turns:
        if turn.message.role in {"user", "assistant"}:
            for name in names:
                if re.search(rf"(?<![\w/]){PROJECTS}/{re.escape(name)}(?![\w-])", turn.message.content):
                    by_project.setdefault(name, []).append(turn.message.role)
    if len(by_project) != 1:
        return ""
    ((name, roles),) = by_project.items()
    return name if len(roles) >= _LEAST_MENTIONS and "user" in roles else ""


def _improvements(items: Sequence[Item], evidence: Mapping[Item, Evidence]) -> Iterator[Item]:
    for item in items:
        said = evidence.get(item)
        if item.kind not in _SECTIONS or (said is not None and said.state == "contradicted"):
            continue
        if item.kind != "deliverable" or (said is not None and said.state == "verified"):
            yield item


def _personal(edits: Transaction) -> Callable[[str, str], bool]:
    """Whether a text may not stand at a path of a project: personal, preferred, or touched by the guard."""
    screening = ScreeningService(edits.home)
    values = [value for match in _USER_VALUE.finditer(edits.text("USER.md")) if (value := _value(match["value"]))]
    preferred = [identity_key(entry.text) for entry in edits.read(MEMORY).section_entries("Standing Preferences")]

    def is_personal(path: str, text: str) -> bool:
        words = identity_key(text)
        if REDACTION_PREFIX in text or _PERSONAL.search(text) or any(_names_value(text, value) for value in values):
            return True
        if any(wish and (wish in words or words in wish) for wish in preferred):
            return True
        verdict = screening.verdict(path, text, "agent")
        return verdict.action != Action.ALLOW or bool(verdict.findings)

    return is_personal


def _value(raw: str) -> str:
    """What USER.md says of the user in one line, or nothing where it says too little to be recognised."""
    value = re.sub(r"[*_`]|<!--.*?-->|\([^)]*\)", "", raw).strip(" .。")
    return value if len(value) >= (3 if value.isascii() else 2) and len(value.split()) <= 6 else ""


def _names_value(text: str, value: str) -> bool:
    edge = r"(?<!\w){}(?!\w)" if value.isascii() else "{}"
    return re.search(edge.format(re.escape(value)), text, re.IGNORECASE) is not None


def _head(name: str) -> str:
    return f"# {name}: what worked and what failed\n"


def _with_line(document: Document, section: str, item: Item, evidence: Evidence | None, date: str) -> Document:
    """*document* with *item* at the end of *section*; a line that says the same gains the sources instead."""
    said = identity_key(item.text)
    for index, block in enumerate(document.blocks):
        match = _LINE.match(block.raw) if block.kind == "item" else None
        if match and identity_key(match["text"]) == said:
            blocks = list(document.blocks)
            blocks[index] = _sourced(block, match, item.sources)
            return document.with_blocks(blocks)
    line = f"- {date}: {' '.join(item.text.split())} ({', '.join(item.sources)})\n"
    if evidence is not None and evidence.state == "verified":
        line += f"  Evidence: {evidence.render()}\n"
    found = document.section(section)
    if found is None:
        return document.with_text_at_end(f"## {section}\n\n{line}")
    end = found.end
    while end > found.start + 1 and document.blocks[end - 1].kind == "blank":
        end -= 1
    last = document.blocks[end - 1]
    gap = "" if last.kind == "item" and last.raw.endswith("\n") else "\n" if last.raw.endswith("\n") else "\n\n"
    before = "".join(block.raw for block in document.blocks[:end])
    after = "".join(block.raw for block in document.blocks[end:])
    return parse(f"{before}{gap}{line}{after}")


def _sourced(block: Block, match: re.Match[str], sources: Sequence[str]) -> Block:
    known = [source.strip() for source in match["sources"].split(", ")]
    united = ", ".join(dict.fromkeys([*known, *sources]))
    start, end = match.span("sources")
    return Block(kind="item", raw=f"{block.raw[:start]}{united}{block.raw[end:]}")


def _drafts(
    edits: Transaction,
    decisions: Sequence[tuple[Item, str]],
    evidence: Mapping[Item, Evidence],
    origins: Mapping[Item, str],
    is_personal: Callable[[str, str], bool],
    *,
    date: str,
    title_chars: int,
) -> Iterator[ProposalDraft]:
    """One proposal for each decision that the project's file does not say yet and nobody rejected."""
    refused = rejected_or_pending(edits.home) if decisions else lambda _: False
    number = 0
    for item, name in decisions:
        file, prefix = _file_of(item.text)
        path = f"{PROJECTS}/{name}/{file}"
        title, body = split_title(" ".join(item.text.split()), title_chars)
        fields = {"Sources": ", ".join(item.sources), "Origin": origins.get(item, "agent")}
        entry = Entry(id=f"{prefix}-0000", date=item.ts[:10] or date, title=title.rstrip("*"), body=body, fields=fields)
        known = identity_key(item.text) in identity_key(edits.text(path))
        if known or number == _MOST_PROPOSED or is_personal(path, item.text) or refused(entry):
            continue
        number += 1
        entry = entry.changed(id=edits.new_id(prefix, f"{item.sources[-1]}\0{item.text}"))
        said = evidence.get(item)
        state = f"{said.state} {said.commit}".strip() if said else "unchecked"
        yield ProposalDraft(
            id=entry.id, path=path, section=_DECISIONS, text=entry.render(), message=f"Propose {entry.id} for {path}",
            trailers={
                "Session": edits.session, "Evidence": state, "Actor": "close", "Source": fields["Origin"],
                "Risk": risk_of(fields["Origin"], state.split(" ", maxsplit=1)[0]),
            },
        )  # fmt: skip


def _file_of(text: str) -> tuple[str, str]:
    """The file that a decision belongs to, and the prefix of its ids: how it is built, what it is for, where it is."""
    if names_in(prose_of(text)) or (_TECH.search(text) and not _PRODUCT.search(text)):
        return "TECH.md", "PT"
    return ("PRODUCT.md", "PP") if _PRODUCT.search(text) else ("PROJECT.md", "PJ")
