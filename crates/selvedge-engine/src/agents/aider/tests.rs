//! aider's logs, as the real program wrote them, and its command line.

use selvedge_core::model::{Cost, MicroUsd, SessionOutcome, SessionStatus};

use super::session_parser::AiderSessionParser;
use super::{AiderChat, analytics_file, chat_history_file};
use crate::agents::jsonl::{AgentCli, SessionAllowance, SessionParser as _, tests as recorded};
use crate::agents::{SessionRequest, SessionRole};

const CHAT: &str = "\
# aider chat started at 2026-11-22 21:34:43

> Aider v0.86.2  

#### Write the answer  

An earlier answer.

#### Fix it  

It is 42.

> Applied edit to answer  
";

const SENT: &str = r#"{"event": "message_send_starting", "properties": {}, "user_id": "e", "time": 1}
"#;
const ANSWERED: &str = r#"{"event": "message_send", "properties": {"main_model": "openai/REDACTED", "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050, "cost": 0.00175, "total_cost": 0.00175}, "user_id": "e", "time": 1}
"#;
const ENDED: &str = r#"{"event": "exit", "properties": {"reason": "Completed --message-file"}, "user_id": "e", "time": 1}
"#;

/// The outcome of a session whose program exited with 0.
fn outcome(records: &[&str], printed: &str) -> SessionOutcome {
    let folder = tempfile::tempdir().unwrap();
    let request = SessionRequest {
        run_dir: folder.path().to_owned(),
        ..recorded::request()
    };
    std::fs::write(analytics_file(&request), records.concat()).unwrap();
    std::fs::write(chat_history_file(&request), CHAT).unwrap();
    let mut reading = AiderSessionParser::default();
    for line in printed.lines() {
        reading.parse_line(line.as_bytes(), &mut |_| {});
    }
    reading.outcome(&request, SessionOutcome::new(SessionStatus::Success), None)
}

#[test]
fn aider_answered_message_is_a_success() {
    let outcome = outcome(&[SENT, ANSWERED, SENT, ANSWERED, ENDED], "");
    assert_eq!(outcome.status, SessionStatus::Success);
    assert_eq!(outcome.text, "It is 42.");
    assert_eq!((outcome.usage.input, outcome.usage.output), (2_000, 100));
    assert_eq!(outcome.cost, Cost::reported(MicroUsd(1_750)));
    assert_eq!(outcome.turns, Some(2));
}

#[test]
fn aider_exit_0_without_answer_is_a_failure() {
    let printed = "litellm.InternalServerError: no\nRetrying in 0.2 seconds...\n\
                   litellm.AuthenticationError: bad key";
    let unanswered = outcome(&[SENT, ANSWERED, SENT, ENDED], printed);
    assert_eq!(unanswered.status, SessionStatus::Failed);
    let error = unanswered.error.unwrap();
    assert_eq!(error, "litellm.AuthenticationError: bad key");
    assert_eq!(unanswered.api_retries, 1);
    let silent = outcome(&[SENT, ANSWERED], "");
    assert_eq!(silent.status, SessionStatus::Failed);
}

#[test]
fn aider_arguments_disable_commits_and_judge_edits() {
    let allowance = SessionAllowance {
        turns: None,
        cost: None,
        retries: 0,
    };
    let mut request = recorded::request();
    let has = |request: &SessionRequest, flag: &str| {
        let argv = AiderChat.command_line(request, allowance);
        argv.iter().any(|word| word == flag)
    };
    assert!(has(&request, "--no-auto-commits") && !has(&request, "ask"));
    request.agent.program = vec!["aider".to_owned(), "--auto-commits".to_owned()];
    assert!(!has(&request, "--no-auto-commits"));
    request.role = SessionRole::Judge;
    assert!(has(&request, "ask"));
}
