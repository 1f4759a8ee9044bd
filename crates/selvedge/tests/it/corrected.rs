//! The main scenario, with the same assertions for every agent: a first attempt that fails its check, a
//! corrective prompt that reports it, and a second attempt that passes. The end-to-end suite includes this file
//! and runs it with real agents.

use selvedge_testkit::TestEnv;
use serde_json::Value;

pub(crate) const TASK: &str = "Write the answer to everything into the file `answer`.";
pub(crate) const CHECK: &str = "grep -q 42 answer";

/// Writes the user's configuration, which describes agents.
pub(crate) fn configure(env: &TestEnv, toml: &str) {
    env.write("../config/selvedge/config.toml", toml);
}

/// The results of the scenario.
pub(crate) struct Corrected {
    /// The result object of `run`.
    pub(crate) result: Value,
    /// The output of `show`, with the sessions.
    pub(crate) story: Value,
}

/// Runs the task with an agent and asserts that it succeeds.
pub(crate) fn run(env: &TestEnv, agent: &str) -> Corrected {
    let run = [
        "run", TASK, "--agent", agent, "--check", CHECK, "--format", "json",
    ];
    let out = env.selvedge(run).run();
    out.assert_code(0);
    let story = env.selvedge(["show", "--format", "json"]).run().json();
    Corrected {
        result: out.json(),
        story,
    }
}

impl Corrected {
    /// Asserts two sessions, the second with a corrective prompt, both reports, and summed usage and costs.
    /// `prompts` are the prompts that the agent received.
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

    /// Sums fields of both sessions.
    fn sum(&self, section: &str, fields: &[&str]) -> u64 {
        let attempts = self.story["attempts"].as_array().unwrap().iter();
        let each = attempts.flat_map(|attempt| {
            fields.iter().map(|field| {
                let amount = &attempt["session"][section][*field];
                amount.as_u64().unwrap_or_default()
            })
        });
        each.sum()
    }
}

fn f64_of(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}
