//! Claude Code on Anthropic's Messages API. Tests of features that only it has are in `claude_code`.

use selvedge_testkit::ScriptedTurn;
use serde_json::json;

use super::{Judgement, TestedAgent, plays};
use crate::fixtures;

const CLAUDE: TestedAgent = TestedAgent {
    name: "claude",
    settings: fixtures::settings,
    // Its write tool requires that a file is read before it is replaced.
    writes: |_, text| runs(&format!("printf '%s' '{text}' > answer")),
    runs,
    solves: |env, text, message| super::solves((CLAUDE.writes)(env, text), message),
    tokens: [2_100, 60],
    calls: 1,
    names_sessions: true,
    refusal: 400,
    idle_timeout: "15s",
    counts_retries: true,
    judgement: Judgement::Tool("StructuredOutput"),
};

fn runs(command: &str) -> ScriptedTurn {
    ScriptedTurn::tool("Bash", json!({"command": command}))
}

plays!(CLAUDE: success, fail_then_fix, turn_limit, refused, overloaded, killed, hang, judge);
