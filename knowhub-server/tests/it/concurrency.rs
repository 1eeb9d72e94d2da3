//! Many writers and readers at once: no lock errors, no lost row, what was just written is found.

use axum::http::StatusCode;
use futures_util::future::join_all;
use serde_json::json;

use crate::harness::TestHub;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_just_written_is_found_at_once() {
    let hub = TestHub::start().await;
    for index in 0..120 {
        let word = format!("词{index:03}号");
        hub.add_experience(json!({ "name": format!("n{index}"), "task": word })).await;
        let id = hub.add_knowledge(json!({ "task": word, "content": "内容" })).await;
        assert_eq!(hub.names(&word).await[0], format!("n{index}"));
        assert_eq!(hub.ids(&word).await[0], id);
    }
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_two_writers_and_readers_meet_no_lock() {
    const WRITES: usize = 20;
    const READS: usize = 5;
    let hub = TestHub::start().await;
    let write = async |writer: usize| {
        for index in 0..WRITES {
            let report = json!({ "name": format!("w{writer}"), "task": format!("共同任务 {index}"), "score": 4 });
            hub.add_experience(report).await;
            let word = format!("w{writer}x{index}");
            hub.add_knowledge(json!({ "task": word, "content": "共同内容" })).await;
        }
    };
    let read = async |_| {
        for _ in 0..READS {
            let answer = hub.find("/api/search", &[("q", "共同任务"), ("limit", "100")]).await;
            assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
            let answer = hub.find("/api/knowledge/search", &[("q", "共同内容")]).await;
            assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        }
    };
    tokio::join!(join_all((0..32).map(write)), join_all((0..32).map(read)));

    let hub = TestHub::start_in(hub.stop().await).await;
    let found = hub.find("/api/search", &[("q", "共同任务"), ("limit", "100")]).await.body;
    let names = found["results"].as_array().unwrap();
    assert_eq!(names.len(), 32);
    assert!(names.iter().all(|name| name["experience_count"] == WRITES));
    // No more of a name are shown.
    assert!(names.iter().all(|name| name["relevant_experiences"].as_array().unwrap().len() == 10));
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_locks_the_file_is_named_and_reads_go_on() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "早", "task": "早" })).await;
    let foreign = rusqlite::Connection::open(hub.config().knowhub_db).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let report = json!({ "name": "晚", "task": "晚" });
    let write = hub.post("/api/experience", &report);
    let (written, read) = tokio::join!(write, hub.names("早"));
    assert_eq!(read, ["早"], "a reader waits for no writer");
    assert_eq!(written.status, StatusCode::SERVICE_UNAVAILABLE, "{written:?}");
    let message = written.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("another program has locked the hub's file"), "{message}");

    foreign.execute_batch("ROLLBACK").unwrap();
    hub.add_experience(report).await;
    assert_eq!(hub.names("晚").await, ["晚"]);
    hub.stop().await;
}
