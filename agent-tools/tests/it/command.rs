//! The `knowhub` command, as a program: output, exit codes, help.

use std::{
    io::Write,
    process::{Output, Stdio},
};

use expect_test::{Expect, expect};
use protocol::im::Recipient;
use tokio::process::Command;

use crate::{
    scripted_hub::{Hub, Script, refusal, with_records},
    scripted_relay::{Relay, dead_url, reply},
};

/// Runs the command against these services, with nothing in the environment but their addresses.
pub(crate) async fn knowhub(api: &str, im_url: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_knowhub"))
        .args(args)
        .env_clear()
        .env("KNOWHUB_API", api)
        .env("IM_URL", im_url)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap()
}

/// Checks the exit code, stdout and stderr; addresses are replaced by names.
#[track_caller]
fn check(output: &Output, addresses: &[(&str, &str)], code: i32, stdout: &Expect, stderr: &Expect) {
    let redact = |bytes: &[u8]| {
        let mut text = String::from_utf8(bytes.to_vec()).unwrap();
        for (address, name) in addresses {
            text = text.replace(address, name);
        }
        text
    };
    stdout.assert_eq(&redact(&output.stdout));
    stderr.assert_eq(&redact(&output.stderr));
    assert_eq!(output.status.code(), Some(code));
}

#[tokio::test]
async fn ask_without_a_relay_searches_directly() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["ask", "怎么提取表格？"]).await;
    let answer = expect![[r#"
        以下是直接检索的结果，未经馆员整理（连接不上消息中继），共 2 条：

        - 从论文 PDF 里提取表格 [knowledge-20260305-a1b2]
          pdfplumber 适合有线表格

        - extract tables [experience-7]
          pymupdf <https://github.com/pymupdf/PyMuPDF> (4/5)
          fast
          page.find_tables()
    "#]];
    check(&output, &[], 0, &answer, &expect![""]);
    let output = knowhub(&hub.api, &relay, &["ask", "tables?", "--json"]).await;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["mode", "reason", "response", "source_ids", "sources"]);
}

#[tokio::test]
async fn ask_prints_the_librarians_answer() {
    let (hub, relay) = (Hub::start(with_records).await, Relay::start().await);
    let args = ["ask", "which", "library?"];
    let (output, ()) = tokio::join!(knowhub(&hub.api, &relay.url, &args), async {
        let mut peer = relay.accept().await;
        assert!(peer.hello.contact_id.as_str().starts_with("agent/"));
        let send = peer.hear_send().await;
        assert_eq!(send.content, "[ASK] which library?");
        peer.accept(&send, Recipient::Online).await;
        peer.deliver(reply(1, &send, "pymupdf\u{1b}[2J")).await;
        peer.hear_ack().await;
    });
    check(
        &output,
        &[],
        0,
        &expect![[r#"
        pymupdf[2J
    "#]],
        &expect![""],
    );
}

#[tokio::test]
async fn search_and_experiences_are_listed() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["search", "表格", "提取"]).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
            找到 1 条知识：

            - 从论文 PDF 里提取表格 [knowledge-20260305-a1b2]
              pdfplumber 适合有线表格
        "#]],
        &expect![""],
    );
    let output = knowhub(&hub.api, &relay, &["experience", "search", "pdf"]).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
        pymupdf <https://github.com/pymupdf/PyMuPDF> – 4.5/5, 2 experiences
          [experience-7] extract tables (4/5)
            outcome: fast
            tips: page.find_tables()
    "#]],
        &expect![""],
    );
}

#[tokio::test]
async fn what_is_cited_or_in_demand_is_shown() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["experience", "show", "[experience-7]"]).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
            pymupdf <https://github.com/pymupdf/PyMuPDF> [experience-7]
            task: extract tables
            score: 4/5
            outcome: fast
            tips: page.find_tables()
            category: library
            token: local
            stored: 2026-03-20T10:00:00.000Z
        "#]],
        &expect![""],
    );
    let args = ["knowledge", "show", "knowledge-20260305-a1b2"];
    let output = knowhub(&hub.api, &relay, &args).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
            从论文 PDF 里提取表格 [knowledge-20260305-a1b2]

            pdfplumber 适合有线表格

            verdicts: approved, score 3, helpful 0, harmful 0
            types: tool
            changed: 2026-03-20T10:00:00.000Z
        "#]],
        &expect![""],
    );
    let output = knowhub(&hub.api, &relay, &["demand"]).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
            12×    experience_search  pdf[2J table  (last 2026-03-21T10:00:00.000Z)
        "#]],
        &expect![[r#"
            note: 2 in all; --page 2 shows more
        "#]],
    );
    let output = knowhub(&hub.api, &relay, &["content", "show", "a/b"]).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
            error: nothing is stored under a/b
        "#]],
    );
}

#[tokio::test]
async fn an_experience_comes_from_flags_or_a_file() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let args = ["experience", "add", "--name", "pymupdf", "--task", "tables", "--score", "4"];
    let output = knowhub(&hub.api, &relay, &args).await;
    check(
        &output,
        &[],
        0,
        &expect![[r#"
        Stored as experience-8.
    "#]],
        &expect![""],
    );
    let (mut file, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let path = path.to_str().unwrap();
    let empty = knowhub(&hub.api, &relay, &["experience", "add", "--file", path]).await;
    assert_eq!(empty.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&empty.stderr).contains("holds no experience"));
    let line = "{\"name\": \"a\", \"task\": \"t\"}\n";
    write!(file, "{line}{line}").unwrap();
    let args = ["experience", "add", "--json", "--file", path];
    for _ in 0..2 {
        let output = knowhub(&hub.api, &relay, &args).await;
        check(
            &output,
            &[],
            0,
            &expect![[r#"
            {
              "ids": [
                8,
                8
              ]
            }
        "#]],
            &expect![""],
        );
    }
    let keys: Vec<_> =
        hub.asked().iter().skip(1).map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys[..2], keys[2..], "the same file has the same keys");
    assert_ne!(keys[0], keys[1], "each line has its own key");
    let grown = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&grown, format!("{{\"name\": \"b\", \"task\": \"t\"}}\n{line}{line}")).unwrap();
    knowhub(&hub.api, &relay, &["experience", "add", "--file", grown.to_str().unwrap()]).await;
    let grown: Vec<_> =
        hub.asked().iter().skip(5).map(|asked| asked.headers["idempotency-key"].clone()).collect();
    assert_eq!((grown.len(), &grown[1..]), (3, &keys[..2]), "each line keeps its key");
    write!(file, "{{\"name\": \"a\"}}").unwrap();
    let output = knowhub(&hub.api, &relay, &args).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
        error: line 3: task: required
    "#]],
    );
}

#[tokio::test]
async fn a_file_that_names_a_node_twice_is_refused() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let node = |id: &str| format!("{{\"id\": \"{id}\", \"body\": \"x\"}}\n");
    std::fs::write(&file, node("a") + &node("b") + &node("a")).unwrap();
    let args = ["content", "add", "--file", file.to_str().unwrap()];
    let output = knowhub(&hub.api, &relay, &args).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
        error: line 3: id: stands in an earlier line too
    "#]],
    );
    assert_eq!(hub.asked().len(), 0, "nothing was sent");
}

#[tokio::test]
async fn an_upload_without_a_relay_goes_to_the_hub() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let (mut file, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let path = path.to_str().unwrap();
    writeln!(file, "{{\"task\": \"t\", \"content\": \"c\"}}").unwrap();
    let args = ["upload", path, "--finalize", "--json"];
    let output = knowhub(&hub.api, &relay, &args).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let data: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(data["uploads"][0]["via"], "hub");
    writeln!(file, "{{\"task\": \"t\"}}").unwrap();
    let output = knowhub(&hub.api, &relay, &args).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
        error: invalid input: knowledge[1].content: required
    "#]],
    );
    let output = knowhub(&hub.api, &relay, &["upload", "/does/not/exist"]).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
        error: cannot read /does/not/exist as UTF-8 text
        Caused by:
          No such file or directory (os error 2)
    "#]],
    );
}

#[tokio::test]
async fn doctor_tells_what_is_missing() {
    let (hub, relay) = (Hub::start(with_records).await, dead_url().await);
    let args = ["doctor", "--librarian", "somebody"];
    let output = knowhub(&hub.api, &relay, &args).await;
    let addresses = [(hub.api.as_str(), "http://HUB"), (relay.as_str(), "ws://RELAY")];
    check(
        &output,
        &addresses,
        3,
        &expect![[r#"
            missing  relay      ws://RELAY  (IM_URL, environment)
                     the relay cannot be reached: ws://RELAY: Connection refused (os error 111)
                     hint: run `make up` or start im-server, or set IM_URL (or --im-url) to where it is
            ok       hub        http://HUB/  (KNOWHUB_API, environment)
                     as ci, with the role writer
            missing  librarian  somebody  (LIBRARIAN_CONTACT_ID, flag)
                     cannot be seen without the relay
                     hint: run `make up` or start librarian with the same IM_URL, or set LIBRARIAN_CONTACT_ID (or --librarian) to its contact; until then questions are answered by direct search
        "#]],
        &expect![""],
    );
}

#[tokio::test]
async fn doctor_tells_a_hub_that_is_there_from_one_that_can_be_used() {
    let relay = dead_url().await;
    for (script, word, hint) in [
        (
            (|_| (503, r#"{"status":"unready","reason":"building the index"}"#.to_owned()))
                as Script,
            "unready  hub",
            "hint: wait until its search index is built",
        ),
        (
            |_| refusal(401, "unauthorized", "this hub asks for a token"),
            "refused  hub",
            "hint: set KNOWHUB_TOKEN",
        ),
    ] {
        let hub = Hub::start(script).await;
        let output = knowhub(&hub.api, &relay, &["doctor"]).await;
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains(word) && told.contains(hint), "{told}");
        assert_eq!(output.status.code(), Some(3));
    }
}

#[tokio::test]
async fn exit_codes_tell_whose_fault_it_is() {
    let (hub, relay) = (Hub::start(|_| refusal(422, "invalid", "q: no")).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["search", "x"]).await;
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
        error: the hub refused (422): q: no
    "#]],
    );
    let output = knowhub(&hub.api, &relay, &["contacts"]).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let api = relay.replace("ws://", "http://").replace("/ws", "");
    let output = knowhub(&api, &relay, &["search", "x"]).await;
    let addresses = [(api.as_str(), "http://HUB")];
    check(
        &output,
        &addresses,
        3,
        &expect![""],
        &expect![[r#"
        error: hub not reachable at http://HUB/ – is knowhub-server running? set KNOWHUB_API
        Caused by:
          error sending request
          client error (Connect)
          tcp connect error
          Connection refused (os error 111)
        hint: `knowhub doctor` tells which service is missing, and what to do
    "#]],
    );
    let closed = Hub::start(|_| refusal(401, "unauthorized", "this hub asks for a token")).await;
    let output = knowhub(&closed.api, &relay, &["search", "x"]).await;
    check(
        &output,
        &[],
        2,
        &expect![""],
        &expect![[r#"
        error: the hub refused (401): this hub asks for a token
        hint: set KNOWHUB_TOKEN (or --token) to one of the tokens that the hub was started with
    "#]],
    );
    for args in [&["frobnicate"][..], &["ask"], &["search", "x", "--api", "nowhere"]] {
        let output = knowhub(&hub.api, &relay, args).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    for (args, setting) in [
        (["contacts", "--token", "two\nlines"], "KNOWHUB_TOKEN"),
        (["contacts", "--log-filter", "!"], "LOG_FILTER"),
    ] {
        let output = knowhub(&hub.api, &relay, &args).await;
        let talk = String::from_utf8(output.stderr).unwrap();
        assert!(talk.contains(setting) && !talk.contains("lines"), "{talk}");
        assert_eq!(output.status.code(), Some(2), "{talk}");
    }
    let output = knowhub("nowhere", &relay, &["doctor"]).await;
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("KNOWHUB_API"), "{talk}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn output_that_cannot_be_written_is_told() {
    let hub = Hub::start(with_records).await;
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_knowhub"))
        .args(["search", "x", "--api", &hub.api])
        .env_clear()
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .await
        .unwrap();
    check(
        &output,
        &[],
        1,
        &expect![""],
        &expect![[r#"
            error: cannot write the output
            Caused by:
              No space left on device (os error 28)
        "#]],
    );
}

#[tokio::test]
async fn slimming_asks_the_model_no_more_than_it_may() {
    let hub = Hub::start(|_| {
        let part = serde_json::json!({
            "dry_run": true, "judged": true, "examined": 60, "asked": 50, "failed": 0,
            "merges": [], "next": 61,
        });
        (200, part.to_string())
    })
    .await;
    let args = ["knowledge", "slim", "--limit", "70", "--after", "7"];
    let output = knowhub(&hub.api, &dead_url().await, &args).await;
    // The second part goes nowhere, so that it is the last.
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "120 records looked at, 0 would be merged\n");
    let orders: Vec<_> = hub.asked().into_iter().map(|asked| asked.body).collect();
    let orders: Vec<_> = orders.iter().map(|order| (&order["limit"], &order["after"])).collect();
    assert_eq!(orders, [(&50.into(), &7.into()), (&20.into(), &61.into())]);

    let args = ["knowledge", "slim", "--limit", "50"];
    let output = knowhub(&hub.api, &dead_url().await, &args).await;
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("go on with --after 61"), "{told}");
}
