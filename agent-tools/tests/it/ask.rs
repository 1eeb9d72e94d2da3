//! `ask_knowledge`: the librarian's answer, and direct search in its place.

use std::time::{Duration, Instant};

use agent_tools::{
    im,
    tools::{self, Context, Error, ask_knowledge::ask},
};
use protocol::{
    im::{Message, Recipient},
    librarian::{AnswerMode, ReplyCode, ReplyError, ReplyMeta},
};
use serde_json::json;

use crate::{
    scripted_hub::{self, Hub, empty, with_records},
    scripted_relay::{LONG, PATIENCE, Relay, config, dead_url, librarian, reply},
};

const QUESTION: &str = "怎么从论文 PDF 里提取表格？";

fn context(hub: &Hub, relay: im::Config) -> Context {
    Context::new(hub.client(), relay, librarian(), PATIENCE)
}

fn answer_meta() -> ReplyMeta {
    let id: protocol::SourceId = "experience-7".parse().unwrap();
    ReplyMeta { mode: Some(AnswerMode::Extractive), source_ids: vec![id], ..ReplyMeta::default() }
}

#[tokio::test]
async fn the_librarians_answer_comes_with_its_sources() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (answer, send) = tokio::join!(ask(&context, QUESTION, PATIENCE), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
        let meta = Some(answer_meta().to_meta());
        peer.deliver(Message { meta, ..reply(1, &send, "用 pymupdf [experience-7]") }).await;
        assert_eq!(peer.hear_ack().await, [1]);
        send
    });
    assert_eq!(send.content, format!("[ASK] {QUESTION}"));
    assert_eq!(send.ttl_ms, Some(PATIENCE.as_millis() as u64));
    let answer = answer.unwrap();
    assert_eq!((answer.mode, answer.reason), (AnswerMode::Extractive, None));
    assert_eq!(answer.response, "用 pymupdf [experience-7]");
    assert_eq!(answer.source_ids, answer_meta().source_ids);
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn two_questions_at_once_get_their_own_answers() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (one, two, ()) =
        tokio::join!(ask(&context, "one", PATIENCE), ask(&context, "two", PATIENCE), async {
            let mut peer = relay.accept().await;
            let (first, second) = (peer.hear_send().await, peer.hear_send().await);
            // As another program would write: nothing but sender and chat tells whose it is.
            for (seq, send) in [(1, second), (2, first)] {
                let text = send.content.replace("[ASK] ", "about ");
                peer.deliver(Message { in_reply_to: None, ..reply(seq, &send, &text) }).await;
            }
        });
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.response.as_str(), two.response.as_str()), ("about one", "about two"));
    assert_eq!((one.mode, one.source_ids.len()), (AnswerMode::Integrated, 0));
}

#[tokio::test]
async fn without_a_relay_direct_search_takes_over_at_once() {
    let hub = Hub::start(with_records).await;
    let context = context(&hub, config(dead_url().await));
    let started = Instant::now();
    let answer = ask(&context, QUESTION, LONG).await.unwrap();
    assert!(started.elapsed() < LONG);
    assert_eq!(answer.mode, AnswerMode::Search);
    let ids: Vec<_> = answer.source_ids.iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["knowledge-20260305-a1b2", "experience-7"]);
    assert_eq!(answer.sources.len(), 2);
    assert!(answer.reason.unwrap().starts_with("the relay cannot be reached: "));
    assert!(answer.response.starts_with("以下是直接检索的结果"), "{}", answer.response);
}

#[tokio::test]
async fn a_known_absence_falls_back_at_once() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let started = Instant::now();
    let (answer, ()) = tokio::join!(ask(&context, QUESTION, LONG), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Offline).await;
    });
    assert!(started.elapsed() < LONG);
    let reason = answer.unwrap().reason.unwrap();
    assert_eq!(reason, "the librarian (knowledge_manager) is offline");
}

#[tokio::test]
async fn silence_falls_back_at_the_deadline_and_a_late_answer_is_harmless() {
    let (relay, hub) = (Relay::start().await, Hub::start(empty).await);
    let context = context(&hub, relay.config());
    let patience = Duration::from_millis(700);
    let started = Instant::now();
    let (answer, (mut peer, late)) = tokio::join!(ask(&context, QUESTION, patience), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
        (peer, send)
    });
    assert!(started.elapsed() >= patience);
    let answer = answer.unwrap();
    assert_eq!((answer.mode, answer.source_ids.len()), (AnswerMode::Search, 0));
    assert_eq!(answer.response, "直接检索没有找到相关的记录（馆员在 0.7 秒内没有回答）。");
    let (answer, ()) = tokio::join!(ask(&context, "next", PATIENCE), async {
        let send = peer.hear_send().await;
        peer.deliver(reply(1, &late, "too late")).await;
        peer.deliver(reply(2, &send, "in time")).await;
    });
    assert_eq!(answer.unwrap().response, "in time");
}

#[tokio::test]
async fn a_refusal_in_the_meta_falls_back_at_once() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (answer, ()) = tokio::join!(ask(&context, "How?", PATIENCE), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        let error = ReplyError { code: ReplyCode::Busy, message: "64 questions in work".into() };
        let meta = ReplyMeta { error: Some(error), ..ReplyMeta::default() }.to_meta();
        peer.deliver(Message { meta: Some(meta), ..reply(1, &send, "busy") }).await;
    });
    let answer = answer.unwrap();
    assert_eq!(answer.mode, AnswerMode::Search);
    let reason = "the librarian could not answer: 64 questions in work";
    assert_eq!(answer.reason.as_deref(), Some(reason));
    assert!(answer.response.starts_with("Direct search, not put together by the librarian"));
}

#[tokio::test]
async fn with_neither_relay_nor_hub_the_error_names_both() {
    let relay = dead_url().await;
    let hub = scripted_hub::client(&relay.replace("ws://", "http://").replace("/ws", ""));
    let context = Context::new(hub, config(relay), librarian(), PATIENCE);
    let err = ask(&context, QUESTION, PATIENCE).await.unwrap_err();
    assert!(matches!(err, Error::NoAnswer { .. }), "{err:?}");
    let text = format!("{:#}", anyhow::Error::from(err));
    for part in ["the relay cannot be reached", "hub not reachable", "IM_URL", "KNOWHUB_API"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_is_refused_before_it_leaves() {
    let hub = Hub::start(with_records).await;
    let context = context(&hub, config(dead_url().await));
    let long = "长".repeat(4001);
    let faults = [
        (" \n", "invalid input: query: required, must not be blank"),
        (&long, "invalid input: query: 4001 characters; at most 4000 are allowed"),
    ];
    for (question, expected) in faults {
        let err = ask(&context, question, PATIENCE).await.unwrap_err();
        assert_eq!(err.to_string(), expected);
        assert!(err.is_callers());
    }
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn tools_are_called_by_name_with_json() {
    let hub = Hub::start(with_records).await;
    let context = context(&hub, config(dead_url().await));
    let run = async |name: &str, input| {
        let tool = tools::all().into_iter().find(|tool| tool.name() == name).unwrap();
        tool.run(&context, input).await
    };
    let result = run("ask_knowledge", json!({"query": "tables?"})).await.unwrap();
    let mut keys: Vec<_> = result.metadata.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["mode", "reason", "source_ids", "sources"]);
    let result = run("knowledge_search", json!({"query": "tables?", "top_k": 3})).await.unwrap();
    assert!(result.output.starts_with("1 knowledge record:\n\n- 从论文"), "{}", result.output);
    let input = json!({"name": "pymupdf", "task": "extract tables", "score": 4});
    let result = run("report_experience", input).await.unwrap();
    assert_eq!(
        (result.output.as_str(), &result.metadata),
        ("Stored as experience-8.", &json!({"id": 8}))
    );
    let err = run("report_experience", json!({"name": "x", "task": "t", "score": 9})).await;
    assert_eq!(err.unwrap_err().to_string(), "invalid input: score: must be 1 to 5, or absent");
    let err = run("ask_knowledge", json!({"question": "x"})).await;
    assert_eq!(err.unwrap_err().to_string(), "invalid input: query: required");
}
