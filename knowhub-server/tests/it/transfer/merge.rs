//! Two hubs that went different ways: what one brings to the other, what stays out, and that both go on.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::two::{RESOURCE, Two, conflicts};
use crate::harness::{TestHub, strings};

/// What two hubs did to one resource, and what the last import makes of it here.
struct Case {
    steps: &'static [&'static str],
    conflicts: &'static [&'static str],
    /// What it says here, and in which version.
    here: Option<(&'static str, i64)>,
    /// The earlier versions that a reader sees, and those that an admin sees.
    versions: (&'static [i64], &'static [i64]),
}

const OTHER_TOMBSTONE: &str = "tombstone x/y: another state of it is here";
const OTHER_LIFE: &str = "tombstone x/y: deleted there, and another record is here under its id";

const CASES: [Case; 13] = [
    Case {
        steps: &["there make a", "there change b", "there delete", "there make c", "import"],
        conflicts: &[],
        here: Some(("c", 3)),
        versions: (&[], &[2, 1]),
    },
    Case {
        steps: &["there make a", "import", "here delete", "there change b", "import"],
        conflicts: &[
            "resource x/y: it was deleted here",
            "version x/y, version 1: another state of it is here",
        ],
        here: None,
        versions: (&[], &[1]),
    },
    // What was erased stays erased, whatever is left of it elsewhere.
    Case {
        steps: &["there make a", "there change b", "import", "here erase", "import"],
        conflicts: &[
            "resource x/y: it was deleted here",
            "version x/y, version 1: its record was not imported",
        ],
        here: None,
        versions: (&[], &[]),
    },
    Case {
        steps: &[
            "there make a",
            "there change b",
            "import",
            "here erase",
            "there delete",
            "import",
        ],
        conflicts: &[
            OTHER_TOMBSTONE,
            "version x/y, version 1: it was erased here",
            "version x/y, version 2: it was erased here",
        ],
        here: None,
        versions: (&[], &[]),
    },
    // Made anew and deleted again, it is still not to come back.
    Case {
        steps: &[
            "there make a",
            "import",
            "here erase",
            "here make b",
            "here delete",
            "there delete",
            "import",
        ],
        conflicts: &[OTHER_TOMBSTONE, "version x/y, version 1: it was erased here"],
        here: None,
        versions: (&[], &[2]),
    },
    // Deleted here at an earlier version than there: what came later is not shown to readers.
    Case {
        steps: &[
            "there make a",
            "import",
            "here delete",
            "there change b",
            "there change c",
            "there delete",
            "import",
        ],
        conflicts: &[
            OTHER_TOMBSTONE,
            "version x/y, version 1: another state of it is here",
            "version x/y, version 2: it was deleted here",
            "version x/y, version 3: it was deleted here",
        ],
        here: None,
        versions: (&[], &[1]),
    },
    // Made elsewhere after it was deleted here: its version goes on from the one that was deleted.
    Case {
        steps: &[
            "here make a",
            "here change b",
            "here change c",
            "here delete",
            "there make d",
            "import",
        ],
        conflicts: &[],
        here: Some(("d", 4)),
        versions: (&[], &[3, 2, 1]),
    },
    // Deleted on both sides and made anew there.
    Case {
        steps: &["there make a", "import", "here delete", "there delete", "there make b", "import"],
        conflicts: &[OTHER_TOMBSTONE, "version x/y, version 1: another state of it is here"],
        here: Some(("b", 2)),
        versions: (&[], &[1]),
    },
    // A younger record here does not lose its own versions behind the end of an older one.
    Case {
        steps: &["there make a", "there change b", "there delete", "here make c", "import"],
        conflicts: &[
            OTHER_LIFE,
            "version x/y, version 1: the record that is here is not newer",
            "version x/y, version 2: the record that is here is not newer",
        ],
        here: Some(("c", 1)),
        versions: (&[], &[]),
    },
    Case {
        steps: &[
            "there make a",
            "there delete",
            "here make b",
            "here change c",
            "here change d",
            "import",
        ],
        conflicts: &[OTHER_LIFE, "version x/y, version 1: another state of it is here"],
        here: Some(("d", 3)),
        versions: (&[2, 1], &[2, 1]),
    },
    // Deleted there, and still wanted here.
    Case {
        steps: &["there make a", "there change b", "import", "there delete", "import"],
        conflicts: &[
            "tombstone x/y: deleted there, and still here",
            "version x/y, version 2: the record that is here is not newer",
        ],
        here: Some(("b", 2)),
        versions: (&[1], &[1]),
    },
    // Another life that came in goes on there.
    Case {
        steps: &[
            "there make a",
            "there delete",
            "there make b",
            "import",
            "there change c",
            "import",
        ],
        conflicts: &[
            "resource x/y: another state of it is here",
            "version x/y, version 2: its record was not imported",
        ],
        here: Some(("b", 2)),
        versions: (&[], &[1]),
    },
    // Several lives were over when it came in again: only what the last one says is shown.
    Case {
        steps: &[
            "there make a",
            "there delete",
            "import",
            "there make b",
            "there change c",
            "there delete",
            "there make d",
            "there change e",
            "import",
        ],
        conflicts: &[],
        here: Some(("e", 5)),
        versions: (&[4], &[4, 3, 2, 1]),
    },
];

#[tokio::test]
async fn a_resource_keeps_what_is_here_and_goes_on() {
    for Case { steps, conflicts: expected, here, versions } in CASES {
        let two = Two::start().await;
        let mut report = Value::Null;
        for step in steps {
            report = two.step(step).await;
        }
        assert_eq!(conflicts(&report), *expected, "{steps:?}");
        let check = async |what: &str| {
            let found = two.get("reader", RESOURCE).await;
            let found = (found.status == StatusCode::OK).then(|| {
                let body = found.body["body"].as_str().unwrap().to_owned();
                (body, found.body["version"].as_i64().unwrap())
            });
            let expected = here.map(|(body, version)| (body.to_owned(), version));
            assert_eq!(found, expected, "{steps:?} {what}");
            assert_eq!(two.versions("reader").await, versions.0, "{steps:?} {what}");
            assert_eq!(two.versions("admin").await, versions.1, "{steps:?} {what}");
        };
        check("at first").await;
        let again = two.import().await;
        assert_eq!(again["imported"], json!({}), "{steps:?}");
        check("imported again").await;

        // Whatever came in can be changed, deleted and made anew, and moved elsewhere.
        if here.is_some() {
            two.step("here change z").await;
            two.step("here delete").await;
        }
        two.step("here make z").await;
        let elsewhere = TestHub::start().await;
        let whole = two.export("here").await;
        let report = super::import(&elsewhere, &whole).await;
        assert_eq!(conflicts(&report), [""; 0], "{steps:?}");
        assert_eq!(super::records(&super::export(&elsewhere).await), super::records(&whole));
        elsewhere.stop().await;
        two.stop().await;
    }
}

/// Adds a record there with an earlier version, a verdict and feedback, imports it, and returns its path.
async fn knowledge_of_both(two: &Two) -> String {
    let body = json!({ "task": "t", "content": "a" });
    let made = two.call("there", Method::POST, "/api/knowledge", Some(body)).await;
    let path = format!("/api/knowledge/{}", made["id"].as_str().unwrap());
    two.call("there", Method::PATCH, &path, Some(json!({ "content": "b" }))).await;
    two.call("there", Method::PUT, &path, Some(json!({ "evolve_feedback": "c" }))).await;
    evaluate(two, "there", &path, 1).await;
    assert_eq!(conflicts(&two.import().await), [""; 0]);
    path
}

async fn evaluate(two: &Two, hub: &str, path: &str, sequence: u32) -> Value {
    let one = json!({
        "knowledge_id": &path["/api/knowledge/".len()..], "injected_at_sequence": sequence,
        "eval_status": "helpful",
    });
    let body = json!({ "trace_id": "t", "evaluations": [one] });
    two.call(hub, Method::POST, "/api/knowledge/evaluations", Some(body)).await
}

/// Returns the kind and reason of each conflict.
fn kinds(report: &Value) -> Vec<(String, String)> {
    let kinds = strings(&report["conflicts"], "kind");
    kinds.into_iter().zip(strings(&report["conflicts"], "reason")).collect()
}

fn owned(kinds: &[(&str, &str)]) -> Vec<(String, String)> {
    kinds.iter().map(|(kind, reason)| ((*kind).to_owned(), (*reason).to_owned())).collect()
}

#[tokio::test]
async fn whatever_was_said_of_erased_knowledge_stays_erased() {
    let out = "its record was not imported";
    for (is_deleted_there, expected) in [
        (
            false,
            owned(&[
                ("knowledge", "it was deleted here"),
                ("version", out),
                ("evaluation", out),
                ("feedback", out),
            ]),
        ),
        (
            true,
            owned(&[
                ("tombstone", "another state of it is here"),
                ("version", "it was erased here"),
                ("version", "it was erased here"),
                ("evaluation", "it was erased here"),
                ("feedback", "it was erased here"),
            ]),
        ),
    ] {
        let two = Two::start().await;
        let path = knowledge_of_both(&two).await;
        two.call("here", Method::DELETE, &format!("{path}?erase=true"), None).await;
        if is_deleted_there {
            two.call("there", Method::DELETE, &path, None).await;
        }
        let report = two.import().await;
        assert_eq!(kinds(&report), expected);
        assert_eq!(report["imported"], json!({}));
        two.stop().await;
    }
}

#[tokio::test]
async fn a_verdict_counts_where_its_record_is() {
    let two = Two::start().await;
    let path = knowledge_of_both(&two).await;
    two.call("here", Method::PATCH, &path, Some(json!({ "owner": "me" }))).await;
    evaluate(&two, "there", &path, 2).await;
    let report = two.import().await;
    let out = "its record was not imported";
    assert_eq!(
        kinds(&report),
        owned(&[("knowledge", "another state of it is here"), ("evaluation", out)])
    );
    // So it can still be reported here.
    let told = evaluate(&two, "here", &path, 2).await;
    assert_eq!(told["results"][0]["ok"], true, "{told}");
    let here = two.get("reader", &path).await.body;
    assert_eq!(here["eval"]["helpful"], 2);
    two.stop().await;
}

#[tokio::test]
async fn a_relation_with_what_stayed_out_is_ended() {
    let two = Two::start().await;
    let path = knowledge_of_both(&two).await;
    two.call("here", Method::DELETE, &path, None).await;
    let body = json!({ "task": "t", "content": "new" });
    let made = two.call("there", Method::POST, "/api/knowledge", Some(body)).await;
    let new = format!("/api/knowledge/{}", made["id"].as_str().unwrap());
    let target = &path["/api/knowledge/".len()..];
    let body = json!({ "type": "superset", "target": target });
    two.call("there", Method::POST, &format!("{new}/relationships"), Some(body)).await;
    let report = two.import().await;
    assert_eq!(report["imported"]["knowledge"], 1, "{report}");
    let adjusted = &report["adjusted"][0];
    assert_eq!((&adjusted["place"], &adjusted["field"]), (&made["id"], &json!("relationships")));
    assert!(adjusted["reason"].as_str().unwrap().contains(target), "{adjusted}");
    let here = two.get("reader", &new).await.body;
    assert_eq!(here["relationships"], json!([]));
    two.stop().await;
}

async fn report(two: &Two, hub: &str, task: &str) -> i64 {
    let body = json!({ "name": "pymupdf", "task": task });
    let made = two.call(hub, Method::POST, "/api/experience", Some(body)).await;
    made["id"].as_i64().unwrap()
}

#[tokio::test]
async fn a_deleted_experience_is_known_by_what_it_said() {
    for erase in [false, true] {
        let two = Two::start().await;
        report(&two, "there", "of there").await;
        let mine = report(&two, "here", "of here").await;
        let delete = |id| format!("/api/experience/{id}?erase={erase}");
        two.call("here", Method::DELETE, &delete(mine), None).await;
        // It only has the number of what was deleted here.
        let first = two.import().await;
        assert_eq!(conflicts(&first), [""; 0]);
        assert_eq!(first["renumbered"], json!([{ "from": 1, "to": 2, "count": 1 }]));
        two.call("here", Method::DELETE, &delete(2), None).await;
        let second = two.import().await;
        assert_eq!(conflicts(&second), ["experience 1: it was deleted here"]);
        two.stop().await;
    }
}

#[tokio::test]
async fn an_experience_that_was_deleted_there_takes_no_number_here() {
    let two = Two::start().await;
    let theirs = report(&two, "there", "of there").await;
    let mine = report(&two, "here", "of here").await;
    assert_eq!(mine, theirs);
    two.call("there", Method::DELETE, &format!("/api/experience/{theirs}"), None).await;
    let merged = two.import().await;
    assert_eq!(
        conflicts(&merged),
        [
            "tombstone 1: deleted there, and another record is here under its id",
            "version 1, version 1: the record that is here is not newer",
        ]
    );
    two.call("here", Method::DELETE, "/api/experience/1", None).await;
    let kept = two.get("admin", "/api/versions/experience/1").await.body;
    assert_eq!(kept["results"][0]["record"]["task"], "of here");
    two.stop().await;

    let two = Two::start().await;
    report(&two, "there", "of both").await;
    two.import().await;
    two.call("there", Method::DELETE, "/api/experience/1", None).await;
    let merged = two.import().await;
    assert_eq!(conflicts(&merged)[0], "tombstone 1: deleted there, and still here");
    two.stop().await;
}
