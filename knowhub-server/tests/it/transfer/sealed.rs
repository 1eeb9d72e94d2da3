//! Sealed secrets on their way: the same secret under another key is the same, and one that no key opens is told.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{export, import};
use crate::harness::{TestHub, config_with};

fn keys(bytes: &[u8]) -> String {
    let entries = bytes.iter().map(|byte| format!("acme:{}", BASE64_STANDARD.encode([*byte; 32])));
    entries.collect::<Vec<_>>().join(",")
}

async fn sealed() -> TestHub {
    let hub = TestHub::with_flags(&["--org-keys", &keys(&[1])]).await;
    let key = BASE64_STANDARD.encode([1; 32]);
    for title in ["a", "b"] {
        let body = json!({ "id": "acme/login", "title": title, "secure_body": "密码" });
        let answer = hub.post_with("/api/resource", &body, &[("x-org-key", &key)]).await;
        assert!(answer.status.is_success(), "{answer:?}");
    }
    hub
}

#[tokio::test]
async fn an_export_from_before_its_secrets_were_sealed_anew_says_the_same() {
    let hub = sealed().await;
    let older = export(&hub).await;
    let folder = hub.stop().await;
    let config = config_with(&folder, &["--org-keys", &keys(&[2, 1])]);
    let hub = TestHub::start_with(folder, &config).await;
    assert_eq!(hub.post("/api/reseal", &json!({})).await.body["resealed"], 2);
    let newer = export(&hub).await;
    let report = import(&hub, &older).await;
    assert_eq!(report["conflicts"], json!([]), "{report}");
    assert_eq!(report["skipped"], json!({ "resource": 1, "version": 1 }));
    assert_eq!(super::records(&export(&hub).await), super::records(&newer));
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_that_no_key_opens_is_told_and_kept() {
    let hub = sealed().await;
    let whole = export(&hub).await;
    hub.stop().await;
    for (flags, told) in [(keys(&[1]), 0), (keys(&[3]), 2), (keys(&[3]).replace("acme", "org"), 0)]
    {
        let other = TestHub::with_flags(&["--org-keys", &flags]).await;
        let report = import(&other, &whole).await;
        assert_eq!(report["adjusted_count"], told, "{flags}: {report}");
        if told > 0 {
            assert_eq!(report["adjusted"][0]["field"], "secure_body");
        }
        assert_eq!(super::records(&export(&other).await), super::records(&whole));
        other.stop().await;
    }
}
