"""Add the results of a session to its projects: what worked, what failed, and proposals for other project files.

A project is a folder ``Projects/NAME/`` of the home. A turn worked on a project when the turn's folder is in the
project's folder, or in a git repository with the project's name, or in one that a file of the project names
(``Repository: PATH``). A session without such a turn worked on a project when the user and the agent wrote
``Projects/NAME`` in at least two turns, one of them the user's, and named no other project. Tool output does not count.

More audiences may read ``Projects/`` than memory, so little is written there. A closing adds work that git verified,
failed attempts with their reasons, and lessons, each with its turns. Decisions become proposals to PRODUCT, TECH or
PROJECT. Preferences, values of USER.md, personal matters and texts with findings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_home import storage
from agent_home.documents.document import Block, Document, parse
from agent_home.documents.entry import Entry
from agent_home.git_folder import main_worktree
from agent_home.home import MEMORY, Home
from agent_home.screening.service import ScreeningService
from agent_home.sharing.folders import shared_folder
from agent_home.store.gateway import Transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.transcript import Turn
from guard import Action
from guard.lazy_regex import lazy_regex
from recall.text.identity import identity_key

from .evidence.status import Evidence
from .learning.evolution import REDACTION_PREFIX
from .reading.labels import ItemKind
from .review.entry_proposals import rejected_or_pending
from .statements.names import names_in, prose_of
from .statements.risk import risk_of
from .summary.extraction import Item

__all__ = ["IMPROVEMENT", "PROJECTS", "ProjectUpdate", "projects_by_turn", "update_projects"]

PROJECTS, IMPROVEMENT = "Projects", "IMPROVEMENT.md"
#: Section of IMPROVEMENT.md for each kind of item. Of deliverables only those that git verified are added.
_SECTIONS: Mapping[ItemKind, str] = {
    "deliverable": "What worked",
    "rejected": "What failed",
    "root_cause": "What failed",
    "lesson": "Lessons",
}
_DECISIONS = "Decisions"
_MAX_PER_SECTION, _MAX_PROPOSED = 5, 5
#: Turns that must name a project when no turn's folder identifies one.
_MIN_MENTIONS = 2
_TRUSTED = frozenset({"user", "agent"})

_REPOSITORY = lazy_regex(
    r"^[-*\s]*\**(?:Repository|Repo|仓库)\**\s*:\**\s*`?(?P<path>[~/][^`\n]+?)`?\s*$", re.MULTILINE
)
_TECH = lazy_regex(
    r"\b(?:apis?|database|schema|index|librar(?:y|ies)|framework|cache|queue|server|deploy\w*|architecture|protocol|"
    r"python|rust|sqlite|postgres\w*|docker|ci|tests?|branch|modules?|packages?|dependenc\w+|refactor\w*|migrat\w+)\b"
    r"|架构|数据库|接口|部署|缓存|技术|框架|模块|代码|测试|索引|依赖|重构|迁移",
    re.IGNORECASE,
)
_PRODUCT = lazy_regex(
    r"\b(?:users?|customers?|pric(?:e|es|ing)|market\w*|personas?|features?|scope|requirements?|non-?goals?|goals?|"
    r"vision|audience|competitors?)\b|用户|客户|定价|价格|功能|需求|范围|目标|愿景|竞品",
    re.IGNORECASE,
)
_PERSONAL = lazy_regex(
    r"\b(?:wife|husband|spouse|girlfriend|boyfriend|kids?|daughter|son|mother|father|mom|dad|birthday|salary|"
    r"doctor|hospital|illness|diagnos\w+|therap(?:y|ist)|medication|pregnan\w+|divorc\w+|religio\w+|home address|"
    r"passport|bank account|vacation|sick leave)\b|\bI (?:\w+ )?(?:prefer|like|love|hate|dislike)\b|\bmy preference\b"
    r"|妻子|老婆|丈夫|老公|孩子|女儿|儿子|父亲|母亲|爸爸|妈妈|生日|工资|薪水|年薪|生病|看病|病假|体检|医院|医生|怀孕|离婚|住址|"
    r"护照|身份证|银行卡|请假|休假|我(?:个人)?(?:更|比较|一向|一直)?(?:偏好|喜欢|讨厌|习惯)",
    re.IGNORECASE,
)
_USER_VALUE = lazy_regex(r"^[-*\s]*\**[^:*\n]{1,40}\**\s*[:\uff1a]\**\s*(?P<value>[^\n]+)$", re.MULTILINE)
_LINE = lazy_regex(r"- (?:\d{4}-\d{2}-\d{2}: )?(?P<text>.*?) \((?P<sources>[^()]*#[^()]*)\)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUpdate:
    """The changes of a closing to projects: the paths of changed files, and proposals for a person."""

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
) -> ProjectUpdate:
    """Add *items* to the projects that *turns* worked on, as part of a closing, and propose their decisions.

    A line that the file has already gains the source. *date* is used for a turn without a time.
    """
    home = edits.home
    by_source = projects_by_turn(home, turns)
    usable = [item for item in items if not item.corrected and origins.get(item, "agent") in _TRUSTED]
    relevant = [(item, by_source[item.sources[-1]]) for item in usable if item.sources[-1] in by_source]
    if not relevant:
        return ProjectUpdate()
    is_personal = _personal_check(edits)
    paths: list[str] = []
    for name in dict.fromkeys(project for _, project in relevant):
        path = f"{PROJECTS}/{name}/{IMPROVEMENT}"
        document = parse(edits.text(path) or _title_line(name))
        kept = list(_improvements([item for item, project in relevant if project == name], evidence))
        for section in dict.fromkeys(_SECTIONS.values()):
            found = [item for item in kept if _SECTIONS[item.kind] == section and not is_personal(path, item.text)]
            for item in found[:_MAX_PER_SECTION]:
                document = _with_line(document, section, item, evidence.get(item), item.ts[:10] or date)
        if document.render() != (edits.text(path) or _title_line(name)):
            edits.write(path, document)
            paths.append(path)
    decisions = [(item, project) for item, project in relevant if item.kind == "decision"]
    return ProjectUpdate(paths=tuple(paths), drafts=tuple(_drafts(
        edits, decisions, evidence, origins, is_personal, date=date
    )))  # fmt: skip


def projects_by_turn(home: Home, turns: Sequence[Turn]) -> dict[str, str]:
    """Return a map from the source of each turn to its project. Turns without a project are left out."""
    names = _names(home)
    if not names:
        return {}
    folders = dict.fromkeys(turn.message.cwd for turn in turns if turn.message.cwd)
    by_folder = {cwd: name for cwd in folders if (name := _project_of_folder(home, cwd, names))}
    by_turn = {t.message.source: by_folder[t.message.cwd] for t in turns if t.message.cwd in by_folder}
    only = next(iter(by_turn.values())) if len(set(by_turn.values())) == 1 else ""
    if not by_turn:
        only = _mentioned_project(turns, names)
    elsewhere = {cwd for cwd in folders if cwd not in by_folder}
    # If there is only one project, turns without a folder belong to it too. Turns in another folder do not.
    others = {t.message.source: only for t in turns if only and t.message.cwd not in elsewhere}
    return {**others, **by_turn}


def _names(home: Home) -> list[str]:
    """Return the names of the projects. One whose shared folder is absent counts, and its texts wait."""
    there = [path.name for path in home.files(PROJECTS, "*") if path.is_dir()]
    absent = [place.removeprefix(f"{PROJECTS}/") for place in home.absent_links if place != PROJECTS]
    return sorted(name for name in (*there, *absent) if name.isprintable() and not name.startswith("."))


def _project_of_folder(home: Home, cwd: str, names: Sequence[str]) -> str:
    """Return the project of the folder *cwd*, or an empty string for none or several."""
    folder = Path(cwd)
    if folder.is_relative_to(home.root / PROJECTS):
        inside = folder.relative_to(home.root / PROJECTS).parts
        return inside[0] if inside and inside[0] in names else ""
    top = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)
    top = main_worktree(top)
    named = [name for name in names if top in _repositories(home, name)]
    same_name = [name for name in names if _folded_name(name) == _folded_name(top.name)]
    found = named or same_name
    return found[0] if len(found) == 1 else ""


def _repositories(home: Home, name: str) -> set[Path]:
    """Return the folders that the project's files name as its repositories.

    Others write the files of a shared project. They must not claim the sessions of another folder by naming it.
    """
    if shared_folder(home, f"{PROJECTS}/{name}/{IMPROVEMENT}", {}):
        return set()
    files = home.files(f"{PROJECTS}/{name}", "*.md")
    texts = (storage.read_text(home.path(home.relative(file))) for file in files)
    return {Path(m["path"].rstrip("/")).expanduser() for text in texts for m in _REPOSITORY.finditer(text)}


def _folded_name(name: str) -> str:
    return re.sub(r"[\s_.-]+", "-", name.casefold())


def _mentioned_project(turns: Sequence[Turn], names: Sequence[str]) -> str:
    """Return the only project whose path the user and the agent wrote often enough, or an empty string."""
    by_project: dict[str, list[str]] = {}
    for turn in turns:
        if turn.message.role in {"user", "assistant"}:
            for name in names:
                if re.search(rf"(?<![\w/]){PROJECTS}/{re.escape(name)}(?![\w-])", turn.message.content):
                    by_project.setdefault(name, []).append(turn.message.role)
    if len(by_project) != 1:
        return ""
    ((name, roles),) = by_project.items()
    return name if len(roles) >= _MIN_MENTIONS and "user" in roles else ""


def _improvements(items: Sequence[Item], evidence: Mapping[Item, Evidence]) -> Iterator[Item]:
    for item in items:
        status = evidence.get(item)
        if item.kind not in _SECTIONS or (status is not None and status.state == "contradicted"):
            continue
        if item.kind != "deliverable" or (status is not None and status.state == "verified"):
            yield item


def _personal_check(edits: Transaction) -> Callable[[str, str], bool]:
    """Return a predicate ``(path, text)`` that is true for personal texts, preferences and texts with findings."""
    screening = ScreeningService(edits.home)
    user_values = (_recognisable_value(match["value"]) for match in _USER_VALUE.finditer(edits.text("USER.md")))
    values = [value for value in user_values if value]
    preferences = [identity_key(entry.text) for entry in edits.read(MEMORY).section_entries("Standing Preferences")]

    def is_personal(path: str, text: str) -> bool:
        key = identity_key(text)
        if REDACTION_PREFIX in text or _PERSONAL.search(text) or any(_names_value(text, value) for value in values):
            return True
        if any(preference and (preference in key or key in preference) for preference in preferences):
            return True
        verdict = screening.verdict(path, text, "agent")
        return verdict.action != Action.ALLOW or bool(verdict.findings)

    return is_personal


def _recognisable_value(raw: str) -> str:
    """Return the value of a line of USER.md, or an empty string when it is too short or long to be recognised."""
    value = re.sub(r"[*_`]|<!--.*?-->|\([^)]*\)", "", raw).strip(" .。")
    return value if len(value) >= (3 if value.isascii() else 2) and len(value.split()) <= 6 else ""


def _names_value(text: str, value: str) -> bool:
    edge = r"(?<!\w){}(?!\w)" if value.isascii() else "{}"
    return re.search(edge.format(re.escape(value)), text, re.IGNORECASE) is not None


def _title_line(name: str) -> str:
    return f"# {name}: what worked and what failed\n"


def _with_line(document: Document, section: str, item: Item, evidence: Evidence | None, date: str) -> Document:
    """Return *document* with *item* at the end of *section*. A line with the same text gains the sources instead."""
    key = identity_key(item.text)
    for index, block in enumerate(document.blocks):
        match = _LINE.match(block.raw) if block.kind == "item" else None
        if match and identity_key(match["text"]) == key:
            blocks = list(document.blocks)
            blocks[index] = _add_sources(block, match, item.sources)
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


def _add_sources(block: Block, match: re.Match[str], sources: Sequence[str]) -> Block:
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
) -> Iterator[ProposalDraft]:
    """Yield a proposal for each decision that is not in the project's file, not pending and not rejected."""
    refused = rejected_or_pending(edits.home) if decisions else lambda _: False
    number = 0
    for item, name in decisions:
        file, prefix = _file_of(item.text)
        path = f"{PROJECTS}/{name}/{file}"
        fields = {"Sources": ", ".join(item.sources), "Origin": origins.get(item, "agent")}
        entry = Entry(id=f"{prefix}-0000", date=item.ts[:10] or date, title=" ".join(item.text.split()), fields=fields)
        known = identity_key(item.text) in identity_key(edits.text(path))
        if known or number == _MAX_PROPOSED or is_personal(path, item.text) or refused(entry):
            continue
        number += 1
        entry = entry.changed(id=edits.new_id(prefix, f"{item.sources[-1]}\0{item.text}"))
        status = evidence.get(item)
        state = f"{status.state} {status.commit}".strip() if status else "unchecked"
        yield ProposalDraft(
            id=entry.id, path=path, section=_DECISIONS, text=entry.render(), message=f"Propose {entry.id} for {path}",
            trailers={
                "Session": edits.session, "Evidence": state, "Actor": "close", "Source": fields["Origin"],
                "Risk": risk_of(fields["Origin"], state.split(" ", maxsplit=1)[0]),
            },
        )  # fmt: skip


def _file_of(text: str) -> tuple[str, str]:
    """Return the file of a decision and the prefix of its ids: technical, product or other."""
    if names_in(prose_of(text)) or (_TECH.search(text) and not _PRODUCT.search(text)):
        return "TECH.md", "PT"
    return ("PRODUCT.md", "PP") if _PRODUCT.search(text) else ("PROJECT.md", "PJ")
