//! Claude Code, on Anthropic's Messages API. What only it has stands in `claude_code`.

use selvedge_testkit::Turn;
use serde_json::json;

use super::{Played, plays};
use crate::stage;

const CLAUDE: Played = Played {
    name: "claude",
    settings: stage::settings,
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

fn runs(command: &str) -> Turn {
    Turn::tool("Bash", json!({"command": command}))
}

plays!(CLAUDE: success, fail_then_fix, turn_limit, refused, overloaded, killed, hang);
