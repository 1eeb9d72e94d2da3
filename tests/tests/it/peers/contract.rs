//! The hub against its own OpenAPI document: a tester sends what the document allows, and what it forbids.

use std::{ffi::OsStr, path::Path, process::Stdio, time::Duration};

use tests::process::Process;
use tokio::{process::Command, time::timeout};

use crate::fixtures::{hub_settings, skip};

/// How long the tester may send requests; it prepares and reports some more.
const SENDING_SECONDS: &str = "45";

/// How long the tester may take in all.
const PATIENCE: Duration = Duration::from_mins(3);

const TOKEN: &str = "a-token-of-the-contract-test-0123456789";

#[tokio::test]
async fn the_hub_keeps_to_its_openapi_document() {
    let tester = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/schemathesis");
    if !tester.join("ready").exists() {
        let name = "peers::contract::the_hub_keeps_to_its_openapi_document";
        return skip(name, "tests/peers/setup.sh fetched no OpenAPI tester");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut settings = hub_settings(&folder.path().join("hub.db")).to_vec();
    settings.extend([
        ("KNOWHUB_TOKENS", format!("tester:admin:{TOKEN}")),
        ("KNOWHUB_RATE_LIMIT", "0".to_owned()),
        ("ORG_KEYS", "org:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned()),
    ]);
    let hub = Process::start("knowhub-server", folder.path(), &settings).await.unwrap();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/schemathesis.toml");
    let testing = Command::new(tester.join("bin/schemathesis"))
        .args([OsStr::new("--config-file"), rules.as_os_str()])
        .args(["run", &format!("http://{}/api/openapi.json", hub.addr())])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--max-time", SENDING_SECONDS, "--continue-on-failure", "--no-color"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, testing).await.expect("the tester ends in time").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("generated"), "it tested nothing:\n{said}\n{complained}");
    let logged = hub.logged().unwrap();
    assert!(!logged.contains("panicked"), "{logged}");
    hub.kill().await.unwrap();
}
