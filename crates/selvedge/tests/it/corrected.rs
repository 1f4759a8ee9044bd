//! The heart of the loop, held to the same account for every agent alike: a first attempt that
//! fails its check, a correction that says so, a second attempt that passes. Included by the
//! end-to-end suite too, which plays the same story with real agents.

use std::time::Duration;

use selvedge_testkit::TestEnv;
use serde_json::Value;

/// What is to be done.
pub(crate) const TASK: &str = "Write the answer to everything into the file `answer`.";
/// What must hold.
pub(crate) const CHECK: &str = "grep -q 42 answer";

/// The person's configuration: where agents are described.
pub(crate) fn configure(env: &TestEnv, toml: &str) {
    env.write("../config/selvedge/config.toml", toml);
}

/// What came of the story.
pub(crate) struct Corrected {
    /// The result object.
    pub(crate) result: Value,
    /// `show`, for the sessions one by one.
    pub(crate) story: Value,
}

/// Runs the task with an agent; it must end well.
pub(crate) fn run(env: &TestEnv, agent: &str) -> Corrected {
    let run = [
        "run", TASK, "--agent", agent, "--check", CHECK, "--format", "json",
    ];
    let out = env.selvedge(run).timeout(Duration::from_mins(5)).run();
    out.assert_code(0);
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    Corrected {
        result: out.json(),
        story,
    }
}

impl Corrected {
    /// Two executions, the second with a corrective prompt, a history of two, all of it added up.
    /// `prompts` is what the agent itself was told.
    pub(crate) fn assert_whole(&self, prompts: &[String]) {
        let Self { result, story } = self;
        assert_eq!(prompts.len(), 2, "two executions: {prompts:#?}");
        assert!(prompts[0].contains(TASK) && !prompts[0].contains("VERIFICATION RETRY"));
        let correction = &prompts[1];
        let failed = format!("- command ({CHECK}): FAIL");
        for part in [TASK, "VERIFICATION RETRY 1/2", "FAILED CHECKS:", &failed] {
            assert!(
                correction.contains(part),
                "`{part}` is missing in:\n{correction}"
            );
        }
        assert_eq!(result["outcome"], "verified");
        assert_eq!(result["verification_status"], "verified");
        assert_eq!(result["verification_attempts"], 2);
        let history = result["verification_history"].as_array().unwrap();
        let history: Vec<_> = history.iter().map(|report| &report["status"]).collect();
        assert_eq!(history, ["fail", "pass"]);
        assert_eq!(story["attempts"].as_array().unwrap().len(), 2);
        let tokens_in = ["input", "cache_read", "cache_write"];
        assert_eq!(result["tokens_in"], self.sum("usage", &tokens_in));
        assert_eq!(result["tokens_out"], self.sum("usage", &["output"]));
        let Some(usd) = result["estimated_cost_usd"].as_f64() else {
            return assert_eq!(result["cost_source"], "unknown");
        };
        let micro_usd = self.sum("cost", &["micro_usd"]);
        assert!((usd * 1e6 - f64_of(micro_usd)).abs() < 0.5, "{usd}");
    }

    /// A sum over both sessions.
    fn sum(&self, of: &str, fields: &[&str]) -> u64 {
        let attempts = self.story["attempts"].as_array().unwrap().iter();
        let each = attempts.flat_map(|attempt| {
            fields.iter().map(|field| {
                let amount = &attempt["session"][of][*field];
                amount.as_u64().unwrap_or_default()
            })
        });
        each.sum()
    }
}

fn f64_of(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}
