//! Tests of the testkit itself: an unreliable harness would make every other test worthless.
#![expect(
    clippy::unwrap_used,
    reason = "the steps of a test are plain: what fails to unwrap fails the test there"
)]

mod anthropic;
mod gemini;
mod http;
mod model_server_program;
mod ollama;
mod openai;
mod test_env;
