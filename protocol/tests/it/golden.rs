//! Each message against its golden JSON file, in both directions.
//!
//! A golden file is the contract with other people's programs: a change of one is a change of the protocol.

use std::{fmt::Debug, fs, path::PathBuf};

use protocol::{
    export, hub,
    im::{ClientFrame, ServerFrame},
    librarian::{Receipt, ReplyMeta},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(name: &str) -> String {
    let path = folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// Checks that the file is read, written back equal, and survives unknown fields.
#[track_caller]
fn check<T: Debug + PartialEq>(name: &str, parse: fn(&str) -> T, write: fn(&T) -> String) {
    let text = read(name);
    let message = parse(&text);
    let golden: Value = serde_json::from_str(&text).unwrap();
    let written: Value = serde_json::from_str(&write(&message)).unwrap();
    assert_eq!(written, golden, "{name} is not written as it was read");

    let mut extended = golden;
    extended.as_object_mut().unwrap().insert("from_the_future".into(), Value::Null);
    assert_eq!(parse(&extended.to_string()), message, "{name} with an unknown field");
}

#[track_caller]
fn check_body<T: Debug + PartialEq + Serialize + DeserializeOwned>(name: &str) {
    check::<T>(
        name,
        |text| serde_json::from_str(text).unwrap(),
        |body| serde_json::to_string(body).unwrap(),
    );
}

/// The golden files by folder; the first test checks that none is forgotten.
const CLIENT_FRAMES: [&str; 9] =
    ["ack", "contacts", "hello", "hello-bare", "nak", "nak-bare", "send", "send-bare", "working"];
const SERVER_FRAMES: [&str; 8] =
    ["accepted", "contacts", "error", "error-bare", "message", "message-bare", "notice", "welcome"];
const BODIES: [&str; 50] = [
    "batch-results",
    "batch-update",
    "batch-verify",
    "calibration",
    "content",
    "demand-list",
    "embeddings",
    "error",
    "experience",
    "experience-created",
    "experience-deleted",
    "experience-search",
    "feedback-list",
    "import-report",
    "knowledge",
    "knowledge-created",
    "knowledge-created-duplicate",
    "knowledge-deleted",
    "knowledge-feedback",
    "knowledge-patch",
    "knowledge-search",
    "knowledge-updated",
    "merge-undone",
    "new-content",
    "new-evaluations",
    "new-experience",
    "new-knowledge",
    "new-relationship",
    "new-resource",
    "processing",
    "processing-bare",
    "receipt",
    "reply-answer",
    "reply-error",
    "reseal",
    "resealed",
    "resource",
    "resource-deleted",
    "resource-list",
    "resource-patch",
    "resource-reading",
    "resource-reading-bare",
    "resource-stored",
    "resource-versions",
    "slim",
    "slimmed",
    "undo-merge",
    "verified",
    "verify",
    "whoami",
];

#[test]
fn every_golden_file_is_tested() {
    for (kind, names) in
        [("client", &CLIENT_FRAMES[..]), ("server", &SERVER_FRAMES), ("body", &BODIES)]
    {
        let mut files: Vec<String> = fs::read_dir(folder().join(kind))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(files, names, "{kind}");
    }
}

#[test]
fn client_frames() {
    for name in CLIENT_FRAMES {
        let file = format!("client/{name}.json");
        check::<ClientFrame>(&file, |text| ClientFrame::parse(text).unwrap(), ClientFrame::to_json);
    }
}

#[test]
fn server_frames() {
    for name in SERVER_FRAMES {
        let file = format!("server/{name}.json");
        check::<ServerFrame>(&file, |text| ServerFrame::parse(text).unwrap(), ServerFrame::to_json);
    }
    assert_eq!(ServerFrame::parse(r#"{"type":"tomorrow"}"#).unwrap(), ServerFrame::Unknown);
}

#[test]
fn bodies() {
    check_body::<hub::BatchResults>("body/batch-results.json");
    check_body::<hub::BatchUpdate>("body/batch-update.json");
    check_body::<hub::BatchVerify>("body/batch-verify.json");
    check_body::<hub::Calibration>("body/calibration.json");
    check_body::<hub::Content>("body/content.json");
    check_body::<hub::Page<hub::Demand>>("body/demand-list.json");
    check_body::<hub::Embeddings>("body/embeddings.json");
    check_body::<hub::ErrorBody>("body/error.json");
    check_body::<hub::Experience>("body/experience.json");
    check_body::<hub::ExperienceCreated>("body/experience-created.json");
    check_body::<hub::ExperienceDeleted>("body/experience-deleted.json");
    check_body::<hub::ExperienceSearch>("body/experience-search.json");
    check_body::<hub::Page<hub::Feedback>>("body/feedback-list.json");
    check_body::<export::ImportReport>("body/import-report.json");
    check_body::<hub::Knowledge>("body/knowledge.json");
    check_body::<hub::KnowledgeCreated>("body/knowledge-created.json");
    check_body::<hub::KnowledgeCreated>("body/knowledge-created-duplicate.json");
    check_body::<hub::KnowledgeDeleted>("body/knowledge-deleted.json");
    check_body::<hub::KnowledgeFeedback>("body/knowledge-feedback.json");
    check_body::<hub::KnowledgePatch>("body/knowledge-patch.json");
    check_body::<hub::KnowledgeSearch>("body/knowledge-search.json");
    check_body::<hub::KnowledgeUpdated>("body/knowledge-updated.json");
    check_body::<hub::MergeUndone>("body/merge-undone.json");
    check_body::<hub::NewContent>("body/new-content.json");
    check_body::<hub::NewEvaluations>("body/new-evaluations.json");
    check_body::<hub::NewExperience>("body/new-experience.json");
    check_body::<hub::NewKnowledge>("body/new-knowledge.json");
    check_body::<hub::NewRelationship>("body/new-relationship.json");
    check_body::<hub::NewResource>("body/new-resource.json");
    check_body::<hub::Processing>("body/processing.json");
    check_body::<hub::Processing>("body/processing-bare.json");
    check_body::<Receipt>("body/receipt.json");
    check_body::<ReplyMeta>("body/reply-answer.json");
    check_body::<ReplyMeta>("body/reply-error.json");
    check_body::<hub::Reseal>("body/reseal.json");
    check_body::<hub::Resealed>("body/resealed.json");
    check_body::<hub::Resource>("body/resource.json");
    check_body::<hub::ResourceDeleted>("body/resource-deleted.json");
    check_body::<hub::Page<hub::ResourceEntry>>("body/resource-list.json");
    check_body::<hub::ResourcePatch>("body/resource-patch.json");
    check_body::<hub::ResourceReading>("body/resource-reading.json");
    check_body::<hub::ResourceReading>("body/resource-reading-bare.json");
    check_body::<hub::ResourceStored>("body/resource-stored.json");
    check_body::<hub::Page<hub::EarlierVersion<hub::Resource>>>("body/resource-versions.json");
    check_body::<hub::Slim>("body/slim.json");
    check_body::<hub::Slimmed>("body/slimmed.json");
    check_body::<hub::UndoMerge>("body/undo-merge.json");
    check_body::<hub::Verified>("body/verified.json");
    check_body::<hub::Verify>("body/verify.json");
    check_body::<hub::Whoami>("body/whoami.json");
}
