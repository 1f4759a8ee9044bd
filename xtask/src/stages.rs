//! Named stages that run one after the other, with their durations. A failed stage does not stop the
//! following ones, so that one run reports all problems.

use std::time::Instant;

use crate::XtaskResult;

/// A stage: its name and its function.
pub(crate) type NamedStage<'a> = (&'a str, &'a dyn Fn() -> XtaskResult);

/// Runs all stages; the error names those that failed.
pub(crate) fn run(stages: &[NamedStage<'_>]) -> XtaskResult {
    let mut failed = Vec::new();
    for (name, stage) in stages {
        println!("── {name}");
        let start = Instant::now();
        let outcome = stage();
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("── {name}: ok, {seconds:.1} s"),
            Err(error) => {
                println!("{error}\n── {name}: FAILED, {seconds:.1} s");
                failed.push(*name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", failed.join(", ")).into())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn stages_run_all_and_name_failed_ones() {
        let last = Cell::new(false);
        let error = run(&[
            ("first", &|| Err("broken".into())),
            ("second", &|| Ok(())),
            ("third", &|| {
                last.set(true);
                Err("broken too".into())
            }),
        ]);
        assert_eq!(error.unwrap_err().to_string(), "failed: first, third");
        assert!(last.get());
    }
}
