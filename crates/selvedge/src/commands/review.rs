//! `selvedge review`: a person's decision on work that waits for one.

use selvedge_core::machine::{Input, Phase};
use selvedge_core::model::Event;
use selvedge_core::plan::{Next, Plan};

use super::{environment, fleet};
use crate::cli::ReviewArgs;
use crate::error::CliError;
use crate::launch;
use crate::local::Home;

pub(super) fn run(args: &ReviewArgs) -> Result<u8, CliError> {
    if let Some(account) = fleet::account(&args.hub)? {
        return fleet::review(args, &account);
    }
    let environment = environment();
    let home = Home::find(&environment)?;
    let journal = home.journal_to_read()?;
    let mut run_id = home.find_run(&journal, &args.run)?;
    let mut state = home.replay(&journal, run_id)?;
    // Of a plan, the subtask that it waits for is meant.
    if let Some(Next::GoOn { run_id: part, .. }) = state.plan.as_ref().map(Plan::next) {
        state = home.replay(&journal, part)?;
        run_id = part;
    }
    drop(journal);
    let by = environment.iter().find(|(name, _)| name == "USER");
    let by = by.map_or_else(|| "a person".to_owned(), |(_, user)| user.clone());
    if state
        .plan
        .as_ref()
        .is_some_and(|plan| plan.review.is_some())
    {
        if args.retry {
            return Err(CliError::usage("several executions have no next attempt")
                .hint("reject them, and run the task again with what you have learnt"));
        }
        let reviewed = Event::Reviewed {
            accepted: args.accept,
            by,
            reason: args.reason.clone(),
        };
        return launch::review_contest(&home, state, reviewed, &args.format.into());
    }
    let waits = state
        .run
        .as_ref()
        .is_some_and(|run| run.phase() == Phase::AwaitingReview);
    if !waits {
        let short = run_id.short();
        return Err(
            CliError::usage(format!("run {short} waits for nobody's review"))
                .hint(format!("`selvedge show {short}` tells how it stands")),
        );
    }
    let input = Input::Review {
        accepted: args.accept,
        retry: args.retry,
        by,
        reason: args.reason.clone(),
    };
    launch::go_on(&home, state, input, &args.format.into())
}
