//! Every command of the agent's guide, run as it stands there.

use std::{ffi::OsString, path::Path};

use serde_json::Value;
use tests::{binary, system::System};
use tokio::process::Command;

use super::{fixtures::skip, tidy::read};

/// Returns the shell commands of a document, in their order.
fn commands(document: &str) -> Vec<&str> {
    let blocks = document.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// Returns a search path on which `knowhub` comes first.
fn path_with_knowhub() -> OsString {
    let knowhub = binary::find("knowhub").unwrap();
    let own = knowhub.parent().map(Path::to_owned);
    #[expect(clippy::disallowed_methods, reason = "a shell needs the search path it was given")]
    let given = std::env::var("PATH").unwrap();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&given))).unwrap()
}

#[tokio::test]
async fn every_command_of_the_guide_works_as_written() {
    if Command::new("curl").arg("--version").output().await.is_err() {
        return skip("skill::every_command_of_the_guide_works_as_written", "curl is not installed");
    }
    let system = System::start().await.unwrap();
    for name in ["skill/knowhub.md", "skill/knowhub.zh-CN.md"] {
        let document = read(name);
        let commands = commands(&document.text);
        assert_eq!(commands.len(), 9, "{name}");
        // The reports come last in the guide; run first, they are what the searches find.
        for command in commands.into_iter().rev() {
            let output = Command::new("sh")
                .args(["-euc", command])
                .env("PATH", path_with_knowhub())
                .env("KNOWHUB_API", system.api())
                .env("IM_URL", system.im_url())
                .current_dir(system.folder())
                .output()
                .await
                .unwrap();
            let talk = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}: {talk}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(answer.get("error").is_none(), "{command}: {answer}");
            let found = answer.get("results").and_then(Value::as_array);
            assert!(found.is_none_or(|results| !results.is_empty()), "{command}: found nothing");
        }
    }
    system.stop().await.unwrap();
}
