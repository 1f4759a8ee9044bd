//! Property test: appended batches are read back unchanged.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use selvedge_core::model::{
    Cost, CostSource, EffectKind, Envelope, Event, MicroUsd, Outcome, Prompt, Timestamp,
};
use serde_json::{Number, Value};

use super::JournalBackend;
use super::sample::{created, interrupted, run, session_ended, session_started};
use selvedge_store::RunSummary;
use selvedge_store::{AppendOutcome, Journal};

/// Appends random batches of events to two runs in turn, sometimes reopening the journal.
pub(crate) fn any_batches_read_back_as_they_were<B: JournalBackend>(fresh: impl Fn() -> B) {
    let batches = vec(
        (any::<bool>(), any::<bool>(), vec((events(), times()), 0..5)),
        1..6,
    );
    let config = Config {
        cases: 32,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&batches, |batches| {
        let backend = fresh();
        let mut journal = backend.open();
        let mut stored = [Vec::<Envelope>::new(), Vec::new()];
        for (to_second, reopen, batch) in batches {
            let number = u32::from(to_second);
            let stored = &mut stored[usize::from(to_second)];
            let last = u64::try_from(stored.len()).unwrap();
            let batch: Vec<_> = (last + 1..)
                .zip(batch)
                .map(|(seq, (event, at))| Envelope {
                    v: 1,
                    run_id: run(number),
                    seq,
                    at,
                    event,
                })
                .collect();
            assert_eq!(
                journal.append(run(number), last, &batch).unwrap(),
                AppendOutcome::Committed
            );
            stored.extend(batch);
            if reopen {
                journal = backend.open();
            }
        }
        for (number, stored) in (0..).zip(&stored) {
            assert_eq!(&journal.read(run(number), 0).unwrap(), stored);
            let folded = stored.split_first().map(|(first, rest)| {
                rest.iter()
                    .fold(RunSummary::from_first_event(first), |mut summary, event| {
                        summary.apply_event(event);
                        summary
                    })
            });
            assert_eq!(journal.summary(run(number)).unwrap(), folded);
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Suspended),
        Just(session_started()),
        (any::<String>(), "/[a-z/]{0,9}").prop_map(|(text, path)| created(&text, &path)),
        (1..9_u32).prop_map(|attempt_number| {
            Event::EffectRequested {
                effect: EffectKind::Verify { attempt_number },
            }
        }),
        (1..9_u32, any::<String>(), any::<Option<String>>()).prop_map(
            |(retry, task, correction)| {
                let prompt = Prompt { task, correction };
                Event::AttemptBegan {
                    attempt_number: retry + 1,
                    prompt,
                    from_tree: None,
                    retry,
                }
            }
        ),
        (1..9_u32, costs()).prop_map(|(attempt_number, cost)| session_ended(attempt_number, cost)),
        (1..9_u32).prop_map(interrupted),
        Just(Event::RunFinished {
            outcome: Outcome::Budget
        }),
        ("x_[a-z_]{0,9}", json()).prop_map(|(kind, data)| Event::Unknown { kind, data }),
    ]
}

fn costs() -> impl Strategy<Value = Cost> {
    let source = prop_oneof![
        Just(CostSource::Reported),
        Just(CostSource::Estimated),
        Just(CostSource::Unknown)
    ];
    // Small enough that a sum of a few amounts fits into a database's signed integers.
    (proptest::option::of(0..u64::MAX / 1_000), source).prop_map(|(amount, source)| Cost {
        micro_usd: amount.map(MicroUsd),
        source,
    })
}

fn times() -> impl Strategy<Value = Timestamp> {
    // To the nanosecond, from 1970 to the year 2500.
    (0..16_725_225_600_000_000_000_i128).prop_map(|ns| Timestamp::from_nanosecond(ns).unwrap())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|x| Number::from_f64(x).map_or(Value::Null, Value::Number)),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((any::<String>(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}
