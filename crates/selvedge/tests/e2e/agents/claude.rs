//! Claude Code, on Anthropic's Messages API. What only it has stands in `claude_code`.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{TestedAgent, plays};
use crate::fixtures;

const CLAUDE: TestedAgent = TestedAgent {
    name: "claude",
    settings: fixtures::settings,
    // Its tool for that wants a file read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, said| super::solves((CLAUDE.writes)(env, text), said),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    silence: "8s",
    counts_retries: true,
};

fn runs(command: &str) -> ScriptedTurn {
    ScriptedTurn::tool("Bash", json!({"command": command}))
}

plays!(CLAUDE: success, fail_then_fix, turn_limit, refused, overloaded, killed, hang);
