"""The history of a monorepo in TypeScript and Rust, with messages in both languages: sessions on two days.

Holds a revert that names only a subject, that revert reverted, work undone without a word about it, a commit that an
amended one replaced and that lies on no branch, and a release.
"""

from __future__ import annotations

from .history import History, HistoryStep, SessionWindow

__all__ = ["ATLAS"]

_SERVER = """import { verifyToken } from "./auth";

export function startServer(port: number) {
  app.use(verifyToken);
  app.get("/maps", listMaps);
  app.listen(port);
}
"""
_SERVER_SPLIT = """import { routes } from "./routes";
import { middleware } from "./middleware";

export function startServer(port: number) {
  app.use(middleware);
  app.use(routes);
  app.listen(port);
}
"""
_AUTH = """export function verifyToken(token: string) {{
  return lookup(token) !== undefined;
}}

export function samePassword(a: string, b: string) {{
  return {compare};
}}
"""
_LIB = """pub fn run_query(plan: &Plan, rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| plan.matches(row)).cloned().collect()
}
"""
_LIB_PARALLEL = """use rayon::prelude::*;

pub fn run_query(plan: &Plan, rows: &[Row]) -> Vec<Row> {
    rows.par_iter().filter(|row| plan.matches(row)).cloned().collect()
}
"""
_PLANNER = (
    "pub fn plan_query(text: &str) -> Plan {{\n    let tokens = split(text);\n{hints}    Plan::from(tokens)\n}}\n"
)
_CACHE = """pub struct QueryCache {
    entries: Vec<(String, Vec<Row>)>,
}

impl QueryCache {
    fn evict_oldest(&mut self) {
        self.entries.remove(0);
    }
}
"""
_CARGO = '[package]\nname = "engine"\nversion = "0.3.0"\n'
_CARGO_RAYON = _CARGO + '\n[dependencies]\nrayon = "1.10"\n'
_HINTS = "    let tokens = with_index_hints(tokens);\n"
_SHIM = """window.$ = function (selector) {
  return document.querySelector(selector);
};
"""
_THEME = """export function toggleTheme() {
  setTheme(dark ? "light" : "dark");
}
"""
_LIMIT = """const MAX_ATTEMPTS = 5;

export class LoginLimiter {
  attempts = new Map<string, number>();
}

export function rateLimit(limiter: LoginLimiter, user: string) {
  return (limiter.attempts.get(user) ?? 0) < MAX_ATTEMPTS;
}
"""
_CHANGELOG = "# Changelog\n\n## 0.3.0\n\n- Maps can be listed.\n"

ATLAS = History(
    name="atlas",
    sessions={
        "first": SessionWindow(since="2026-05-06T09:00:00+08:00", until="2026-05-06T18:00:00+08:00"),
        "second": SessionWindow(since="2026-05-07T09:00:00+08:00", until="2026-05-07T18:00:00+08:00"),
    },
    uncommitted={"packages/web/src/draft_editor.ts": "export function openDraft() {\n  return null;\n}\n"},
    steps=(
        HistoryStep(
            key="start", when="2026-04-01T10:00:00+08:00", message="Import the monorepo",
            files={
                "Makefile": "all:\n\tcargo build\n",
                ".github/workflows/ci.yml": "on: push\njobs: {}\n",
                "CHANGELOG.md": _CHANGELOG,
                "docs/guide.md": "# Guide\n",
                "packages/api/src/server.ts": _SERVER,
                "packages/api/src/auth.ts": _AUTH.format(compare="a === b"),
                "packages/web/src/router.ts": "export function createRouter() {\n  return new Router();\n}\n",
                "packages/web/src/legacy/jquery_shim.js": _SHIM,
                "crates/engine/Cargo.toml": _CARGO,
                "crates/engine/src/lib.rs": _LIB,
                "crates/engine/src/planner.rs": _PLANNER.format(hints=""),
            },
        ),
        HistoryStep(
            key="limit", when="2026-05-06T09:30:00+08:00",
            message="feat(api): rate limit login attempts to 5 per minute",
            files={"packages/api/src/rate_limit.ts": _LIMIT},
        ),
        HistoryStep(
            key="hints", when="2026-05-06T10:10:00+08:00", message="fix(engine): planner ignored index hints",
            files={"crates/engine/src/planner.rs": _PLANNER.format(hints=_HINTS)},
        ),
        HistoryStep(
            key="shim", when="2026-05-06T10:40:00+08:00", message="chore(web): drop the jquery shim",
            files={"packages/web/src/legacy/jquery_shim.js": None},
        ),
        HistoryStep(
            key="cache", when="2026-05-06T11:20:00+08:00", message="feat(engine): cache query results",
            files={"crates/engine/src/query_cache.rs": _CACHE},
        ),
        HistoryStep(
            key="uncache", when="2026-05-06T13:30:00+08:00",
            message='Revert "feat(engine): cache query results" (#42)\n\nReverts #41\n',
            files={"crates/engine/src/query_cache.rs": None},
        ),
        HistoryStep(
            key="recache", when="2026-05-06T14:30:00+08:00",
            message='Revert "Revert "feat(engine): cache query results" (#42)"\n\nThis reverts commit {uncache}.\n',
            files={"crates/engine/src/query_cache.rs": _CACHE},
        ),
        HistoryStep(
            key="guard", when="2026-05-06T15:00:00+08:00", message="test(web): 路由守卫的测试",
            files={"packages/web/tests/router_guard.test.ts": 'test("guests are sent to the login", () => {});\n'},
        ),
        HistoryStep(
            key="deploy", when="2026-05-06T15:40:00+08:00", message="docs: 补充部署指南",
            files={"docs/deploy.md": "# 部署\n\n先构建,再上传。\n"},
        ),
        HistoryStep(
            key="amended", when="2026-05-06T16:10:00+08:00", branch="amended",
            message="refactor(api): split server.ts into routes and middleware, first try",
            files={"packages/api/src/routes.ts": "export const routes = [];\n"},
        ),
        HistoryStep(
            key="split", when="2026-05-06T16:20:00+08:00", drop="amended",
            message="refactor(api): split server.ts into routes and middleware",
            files={
                "packages/api/src/server.ts": _SERVER_SPLIT,
                "packages/api/src/routes.ts": 'export const routes = [["/maps", listMaps]];\n',
                "packages/api/src/middleware.ts": "export const middleware = [verifyToken];\n",
            },
        ),
        HistoryStep(
            key="rayon", when="2026-05-07T09:40:00+08:00", message="perf(engine): scan in parallel with rayon",
            files={"crates/engine/src/lib.rs": _LIB_PARALLEL, "crates/engine/Cargo.toml": _CARGO_RAYON},
        ),
        HistoryStep(
            key="unrayon", when="2026-05-07T11:00:00+08:00", message="engine: back to the sequential scan",
            files={"crates/engine/src/lib.rs": _LIB, "crates/engine/Cargo.toml": _CARGO},
        ),
        HistoryStep(
            key="theme", when="2026-05-07T13:20:00+08:00", message="feat(web): dark mode toggle in the settings panel",
            files={"packages/web/src/theme.ts": _THEME},
        ),
        HistoryStep(
            key="compare", when="2026-05-07T15:00:00+08:00", message="fix(auth): compare passwords in constant time",
            files={"packages/api/src/auth.ts": _AUTH.format(compare="timingSafeEqual(a, b)")},
        ),
        HistoryStep(
            key="v04", when="2026-05-07T17:00:00+08:00", message="chore(release): v0.4.0", tag="v0.4.0",
            files={"CHANGELOG.md": _CHANGELOG.replace("## 0.3.0", "## 0.4.0\n\n- Dark mode.\n\n## 0.3.0")},
        ),
    ),
)  # fmt: skip
