//! Random stores: whatever is in one comes back out of another.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::btree_map, collection::btree_set, prelude::*, sample::select};
use protocol::{
    ExperienceId, KnowledgeId, Timestamp,
    export::{
        Evaluation, Experience, Feedback, KnowledgeRecord, Line, RecordKind, Resource, Tombstone,
        Version,
    },
    hub::{ContentType, Demand, DemandKind, Eval, Knowledge, KnowledgeStatus, Origin},
};
use serde_json::json;

use super::{export, import, records, written};
use crate::harness::TestHub;

/// Text that is hard to carry: Chinese, quotes, line ends, what looks like JSON or SQL, and anything else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "表格 提取",
            "a\r\nb\tc\u{85}\u{2028}",
            "\"}{\\u0000",
            "';--",
            "\u{feff}x"
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_000_i64).prop_map(Timestamp::from_millis)
}

fn present() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("实{text}"))
}

fn experiences() -> impl Strategy<Value = Vec<Line>> {
    let one = (present(), text(), present(), proptest::option::of(1..=5_u8), text(), time());
    btree_map(1..200_i64, one, 0..5).prop_map(|all| {
        let line = |(id, (name, url, task, score, tips, created_at))| {
            Line::Experience(Experience {
                id: ExperienceId(id),
                name,
                url,
                category: "库".into(),
                task,
                score,
                outcome: String::new(),
                tips,
                content_id: "a/b".into(),
                submitted_by: "me".into(),
                authenticated_as: "local".into(),
                on_behalf_of: "im:agent".into(),
                created_at,
            })
        };
        all.into_iter().map(line).collect()
    })
}

fn resources() -> impl Strategy<Value = Vec<Line>> {
    let kinds = vec![ContentType::Text, ContentType::Code, ContentType::Cookie];
    let one = (text(), text(), select(kinds), any::<i64>(), 1..9_i64, time());
    btree_map("[a-z表]{1,3}(/[a-z%_]{1,3}){0,2}", one, 0..4).prop_map(|all| {
        let line = |(id, (title, body, content_type, sort_order, version, at)): (String, _)| {
            Line::Resource(Resource {
                id: id.parse().unwrap(),
                title,
                body,
                secure_body: format!("encrypted:AES256-GCM:{}", "A".repeat(40)),
                content_type,
                metadata: json!({ "language": "rust", "x": [1, 2.5, null] })
                    .as_object()
                    .unwrap()
                    .clone(),
                sort_order,
                submitted_by: String::new(),
                authenticated_as: "local".into(),
                on_behalf_of: String::new(),
                version,
                created_at: at,
                updated_at: at,
            })
        };
        all.into_iter().map(line).collect()
    })
}

fn knowledge_id(number: u16) -> KnowledgeId {
    KnowledgeId::new(Timestamp::from_millis(0), number)
}

/// Some records, among them the one that all verdicts are of.
fn knowledge() -> impl Strategy<Value = Vec<Line>> {
    let one = || (present(), present(), text(), 0.0..=1.0_f64, 1..9_i64, time());
    let all = (one(), btree_map(1..=u16::MAX, one(), 0..4));
    all.prop_map(|(first, mut all)| {
        all.insert(0, first);
        let line = |(number, (task, content, tag, confidence, version, at))| {
            let record = Knowledge {
                id: knowledge_id(number),
                task,
                content,
                types: vec!["tool".into()],
                tags: BTreeMap::from([("键".to_owned(), tag)]),
                scopes: vec![],
                owner: "agent:x".into(),
                resource_ids: vec!["a".into()],
                source: Origin::default(),
                eval: Eval {
                    confidence,
                    helpful_history: vec![json!({ "case": "好" })],
                    ..Eval::default()
                },
                status: KnowledgeStatus::Checked,
                verified_by: "ann".into(),
                flags: vec![],
                relationships: vec![],
                message_id: String::new(),
                created_at: at,
                updated_at: at,
            };
            Line::Knowledge(KnowledgeRecord { version, record })
        };
        all.into_iter().map(line).collect()
    })
}

/// sha256 of no bytes at all.
const EMPTY_HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Histories of what is no longer there.
fn histories() -> impl Strategy<Value = Vec<Line>> {
    let one = (text(), text(), time());
    btree_map("[u-z]{2}/[a-z]{2}", one, 0..3).prop_map(|all| {
        let version = |(id, (by, title, at)): (&String, &(String, String, Timestamp))| {
            Line::Version(Version {
                kind: RecordKind::Resource,
                id: id.clone(),
                version: 3,
                record: json!({
                    "id": id, "title": title, "body": "", "secure_body": "",
                    "content_type": "text", "metadata": { "n": 1 }, "sort_order": 0,
                    "submitted_by": "", "authenticated_as": "local", "on_behalf_of": "",
                    "content_hash": EMPTY_HASH, "version": 3, "created_at": at, "updated_at": at,
                }),
                replaced_at: *at,
                replaced_by: by.clone(),
            })
        };
        let tombstone = |(id, (by, reason, at)): (&String, &(String, String, Timestamp))| {
            Line::Tombstone(Tombstone {
                kind: RecordKind::Resource,
                id: id.clone(),
                version: 3,
                deleted_at: *at,
                deleted_by: by.clone(),
                reason: reason.clone(),
                erased_to: 2,
                fingerprint: String::new(),
            })
        };
        all.iter().map(tombstone).chain(all.iter().map(version)).collect()
    })
}

fn verdicts() -> impl Strategy<Value = Vec<Line>> {
    (btree_set((text(), any::<u32>()), 0..3), btree_set(present(), 0..3), time()).prop_map(
        |(traces, texts, at): (BTreeSet<(String, u32)>, BTreeSet<String>, _)| {
            let evaluation = |(trace_id, injected_at_sequence): (String, u32)| {
                Line::Evaluation(Evaluation {
                    principal: "local".into(),
                    trace_id,
                    knowledge_id: knowledge_id(0).to_string(),
                    injected_at_sequence: injected_at_sequence.into(),
                    goal_id: "2.1".into(),
                    eval_status: "helpful".into(),
                    reason: "有用".into(),
                    evaluated_at: "2026-03-20T10:00:00.123456".into(),
                    evaluated_at_trigger: "goal_completed".into(),
                    created_at: at,
                })
            };
            let feedback = |text| {
                Line::Feedback(Feedback {
                    knowledge_id: knowledge_id(0),
                    text,
                    principal: "local".into(),
                    created_at: at,
                    applied_at: None,
                })
            };
            let demand = |wanted| {
                let (first_at, last_at) = (at, at);
                let kind = DemandKind::Content;
                Line::Demand(Demand { kind, wanted, count: 2, first_at, last_at })
            };
            let evaluations = traces.into_iter().map(evaluation);
            let feedbacks = texts.clone().into_iter().map(feedback);
            evaluations.chain(feedbacks).chain(texts.into_iter().map(demand)).collect()
        },
    )
}

fn stores() -> impl Strategy<Value = Vec<Line>> {
    (experiences(), resources(), knowledge(), histories(), verdicts())
        .prop_map(|(a, b, c, d, e)| [a, b, c, d, e].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_in_one_store_comes_out_of_another(lines in stores()) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let first = TestHub::start().await;
            let given = written(&lines);
            let report = import(&first, &given).await;
            prop_assert_eq!(&report["rejected"], &json!([]));
            prop_assert_eq!(&report["conflicts"], &json!([]));
            let whole = export(&first).await;
            prop_assert_eq!(records(&whole), records(&given));
            let report = import(&first, &whole).await;
            prop_assert_eq!(&report["imported"], &json!({}));
            first.stop().await;
            Ok(())
        })?;
    }
}
