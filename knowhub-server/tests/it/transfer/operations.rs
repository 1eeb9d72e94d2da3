//! Whatever is done to a hub, its export makes an empty one equal.

use axum::http::Method;
use base64::{Engine, prelude::BASE64_STANDARD};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::{export, import, records};
use crate::harness::TestHub;

/// One call; which record it names follows from the number, among those that were made before.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Report(u8),
    DeleteExperience { which: usize, erase: bool },
    SaveResource { which: u8, text: u8, sealed: bool },
    PatchResource { which: u8, text: u8 },
    DeleteResource { which: u8, erase: bool },
    AddKnowledge(u8),
    PatchKnowledge { which: usize, text: u8 },
    Verify { which: usize, approve: bool },
    GiveFeedback { which: usize, text: u8 },
    BatchUpdate { which: usize, text: u8 },
    Evaluate { which: usize, sequence: u8 },
    Relate { which: usize, to: usize },
    Part { which: usize, to: usize },
    DeleteKnowledge { which: usize, erase: bool },
    Miss(u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{
        AddKnowledge, BatchUpdate, DeleteExperience, DeleteKnowledge, DeleteResource, Evaluate,
        GiveFeedback, Miss, Part, PatchKnowledge, PatchResource, Relate, Report, SaveResource,
        Verify,
    };
    let (few, any_one, flag) = (0..3_u8, 0..8_usize, any::<bool>());
    prop_oneof![
        few.clone().prop_map(Report),
        (any_one.clone(), flag).prop_map(|(which, erase)| DeleteExperience { which, erase }),
        (few.clone(), few.clone(), flag).prop_map(|(which, text, sealed)| SaveResource {
            which,
            text,
            sealed
        }),
        (few.clone(), few.clone()).prop_map(|(which, text)| PatchResource { which, text }),
        (few.clone(), flag).prop_map(|(which, erase)| DeleteResource { which, erase }),
        few.clone().prop_map(AddKnowledge),
        (any_one.clone(), few.clone()).prop_map(|(which, text)| PatchKnowledge { which, text }),
        (any_one.clone(), flag).prop_map(|(which, approve)| Verify { which, approve }),
        (any_one.clone(), few.clone()).prop_map(|(which, text)| GiveFeedback { which, text }),
        (any_one.clone(), few.clone()).prop_map(|(which, text)| BatchUpdate { which, text }),
        (any_one.clone(), few.clone()).prop_map(|(which, sequence)| Evaluate { which, sequence }),
        (any_one.clone(), any_one.clone()).prop_map(|(which, to)| Relate { which, to }),
        (any_one.clone(), any_one.clone()).prop_map(|(which, to)| Part { which, to }),
        (any_one, flag).prop_map(|(which, erase)| DeleteKnowledge { which, erase }),
        few.prop_map(Miss),
    ]
}

/// A hub and what was made in it.
struct Worked {
    hub: TestHub,
    key: String,
    experiences: usize,
    knowledge: Vec<String>,
}

impl Worked {
    async fn start() -> Self {
        let key = BASE64_STANDARD.encode([7; 32]);
        let hub = TestHub::with_flags(&["--org-keys", &format!("org:{key}")]).await;
        Self { hub, key, experiences: 0, knowledge: Vec::new() }
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let headers = [("x-org-key", self.key.as_str())];
        let answer = self.hub.call(method.clone(), path, &headers, body.as_ref()).await;
        assert!(answer.status.as_u16() < 500, "{method} {path}: {answer:?}");
        answer.body
    }

    /// Returns the path of a knowledge record; there may be none.
    fn knowledge(&self, which: usize) -> String {
        let id = self.knowledge.get(which % self.knowledge.len().max(1));
        format!("/api/knowledge/{}", id.map_or("knowledge-20260305-a1b2", String::as_str))
    }

    async fn run(&mut self, operation: Operation) {
        let text = |number: u8| ["表格", "PDF\n\"双栏\"", "x"][usize::from(number)];
        let resource = |number: u8| format!("/api/resource/org/{number}");
        let related =
            |to: &str| json!({ "type": "superset", "target": &to["/api/knowledge/".len()..] });
        match operation {
            Operation::Report(number) => {
                let body = json!({ "name": text(number), "task": "t", "score": 4, "url": "u" });
                self.call(Method::POST, "/api/experience", Some(body)).await;
                self.experiences += 1;
            }
            Operation::DeleteExperience { which, erase } => {
                let id = which % self.experiences.max(1) + 1;
                let path = format!("/api/experience/{id}?reason=r&erase={erase}");
                self.call(Method::DELETE, &path, None).await;
            }
            Operation::SaveResource { which, text: body, sealed } => {
                let mut body = json!({ "id": format!("org/{which}"), "body": text(body) });
                if sealed {
                    body["secure_body"] = "密".into();
                }
                self.call(Method::POST, "/api/resource", Some(body)).await;
            }
            Operation::PatchResource { which, text: title } => {
                let body = json!({ "title": text(title), "metadata": { "a": title } });
                self.call(Method::PATCH, &resource(which), Some(body)).await;
            }
            Operation::DeleteResource { which, erase } => {
                let path = format!("{}?erase={erase}", resource(which));
                self.call(Method::DELETE, &path, None).await;
            }
            Operation::AddKnowledge(number) => {
                let body = json!({ "task": "t", "content": text(number) });
                let made = self.call(Method::POST, "/api/knowledge", Some(body)).await;
                self.knowledge.push(made["id"].as_str().unwrap().to_owned());
            }
            Operation::PatchKnowledge { which, text: content } => {
                let body = json!({ "content": text(content) });
                self.call(Method::PATCH, &self.knowledge(which), Some(body)).await;
            }
            Operation::Verify { which, approve } => {
                let path = format!("{}/verify", self.knowledge(which));
                let action = if approve { "approve" } else { "reject" };
                self.call(Method::POST, &path, Some(json!({ "action": action }))).await;
            }
            Operation::GiveFeedback { which, text: said } => {
                let body =
                    json!({ "evolve_feedback": text(said), "add_helpful_case": { "a": [1] } });
                self.call(Method::PUT, &self.knowledge(which), Some(body)).await;
            }
            Operation::BatchUpdate { which, text: said } => {
                let id = &self.knowledge(which)["/api/knowledge/".len()..];
                let item = json!({
                    "knowledge_id": id, "is_effective": false, "feedback": text(said),
                });
                let body = json!({ "feedback_list": [item, item] });
                self.call(Method::POST, "/api/knowledge/batch_update", Some(body)).await;
            }
            Operation::Evaluate { which, sequence } => {
                let id = &self.knowledge(which)["/api/knowledge/".len()..];
                let one = json!({
                    "knowledge_id": id, "injected_at_sequence": sequence, "eval_status": "helpful",
                    "reason": "有用",
                });
                let body = json!({ "trace_id": "t", "evaluations": [one] });
                self.call(Method::POST, "/api/knowledge/evaluations", Some(body)).await;
            }
            Operation::Relate { which, to } => {
                let path = format!("{}/relationships", self.knowledge(which));
                self.call(Method::POST, &path, Some(related(&self.knowledge(to)))).await;
            }
            Operation::Part { which, to } => {
                let target = &self.knowledge(to)["/api/knowledge/".len()..].to_owned();
                let path = format!(
                    "{}/relationships?type=superset&target={target}",
                    self.knowledge(which)
                );
                self.call(Method::DELETE, &path, None).await;
            }
            Operation::DeleteKnowledge { which, erase } => {
                let path = format!("{}?erase={erase}", self.knowledge(which));
                self.call(Method::DELETE, &path, None).await;
            }
            Operation::Miss(number) => {
                self.call(Method::GET, &format!("/api/search?q=nobody{number}"), None).await;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn an_export_of_a_worked_hub_makes_an_empty_one_equal(operations in vec(operation(), 0..60)) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let mut worked = Worked::start().await;
            for operation in operations {
                worked.run(operation).await;
            }
            // The newest misses are stored before they are listed.
            worked.call(Method::GET, "/api/demand", None).await;
            let whole = export(&worked.hub).await;
            let empty = TestHub::start().await;
            for (hub, is_new) in [(&empty, true), (&empty, false), (&worked.hub, false)] {
                let report = import(hub, &whole).await;
                for list in ["conflicts", "rejected", "adjusted", "renumbered"] {
                    prop_assert_eq!(&report[list], &json!([]), "{}: {}", list, report);
                }
                prop_assert!(is_new || report["imported"] == json!({}), "{}", report);
                let again = export(hub).await;
                prop_assert_eq!(records(&again), records(&whole));
            }
            empty.stop().await;
            worked.hub.stop().await;
            Ok(())
        })?;
    }
}
