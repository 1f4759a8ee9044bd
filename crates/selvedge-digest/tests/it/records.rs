//! The wire form of the records: names, leniency on read, schema.

use schemars::schema_for;
use selvedge_digest::{Failure, FailureKind, FailureSource, TestSummary};

#[test]
fn failure_is_serialized_in_snake_case_without_unknowns() {
    let failure = Failure {
        kind: FailureKind::Test,
        id: Some("a::b".to_owned()),
        summary: "left != right".to_owned(),
        count: 1,
        source: FailureSource::Text,
        ..Failure::default()
    };
    let json = serde_json::to_string(&failure).unwrap();
    assert_eq!(
        json,
        r#"{"kind":"test","id":"a::b","summary":"left != right","count":1,"source":"text"}"#
    );
    assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), failure);
}

#[test]
fn failure_is_deserialized_leniently() {
    let read = |json: &str| serde_json::from_str::<Failure>(json).unwrap();
    assert_eq!(read("{}"), Failure::default());
    assert_eq!(read(r#"{"kind":"build"}"#).kind, FailureKind::Compile);
    let unknown = read(r#"{"kind":"quantum","source":"oracle","wavelength":3}"#);
    assert_eq!(unknown.kind, FailureKind::Unknown("quantum".to_owned()));
    assert_eq!(unknown.source, FailureSource::Fallback);
    assert!(
        serde_json::to_string(&unknown)
            .unwrap()
            .contains(r#""kind":"quantum""#)
    );
    assert_eq!(
        serde_json::from_str::<TestSummary>("{}").unwrap(),
        TestSummary::default()
    );
}

#[test]
fn failure_kinds_round_trip() {
    for kind in FailureKind::KNOWN {
        assert_eq!(FailureKind::from(kind.as_str()), kind);
    }
}

#[test]
fn schema_requires_nothing_and_names_every_field() {
    let schema = serde_json::to_value(schema_for!(Failure)).unwrap();
    assert_eq!(schema.get("required"), None);
    for field in [
        "kind", "id", "file", "line", "column", "code", "summary", "message", "excerpt",
    ] {
        assert!(schema["properties"].get(field).is_some(), "{field}");
    }
}
