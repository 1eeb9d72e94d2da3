//! Vectors, batches, faults and bounds of the client for embedding endpoints.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use llm::Error;
use llm::embedding::{Embedding, EmbeddingError, MAX_TEXT_CHARS, TextRole};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Endpoint, embeddings, response};

const PATIENCE: Duration = Duration::from_secs(20);
const IMPATIENCE: Duration = Duration::from_millis(300);

type Outcome = Result<Vec<Embedding>, EmbeddingError>;

/// Embeds texts as passages.
async fn embed(endpoint: &Endpoint, texts: &[&str], patience: Duration) -> Outcome {
    let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
    endpoint.embedder().embed(&texts, TextRole::Passage, Instant::now() + patience).await
}

fn vector(values: [f32; 2]) -> Embedding {
    Embedding::Vector { vector: values.to_vec(), is_cut: false }
}

fn inputs(body: &Value) -> Vec<String> {
    let inputs = body["input"].as_array().expect("a list").iter();
    inputs.map(|input| input.as_str().expect("a text").to_owned()).collect()
}

/// A vector that tells how many characters a text has.
fn told(input: &str) -> Value {
    json!([input.chars().count(), 1])
}

/// An endpoint that gives vectors, unless one of the texts is to its dislike.
async fn picky(status: StatusCode, dislikes: impl Fn(&str) -> bool + Send + 'static) -> Endpoint {
    Endpoint::answering(move |body| {
        let inputs = inputs(body);
        if inputs.iter().any(|input| dislikes(input)) {
            return response(status, r#"{"error": {"message": "not to my liking"}}"#);
        }
        embeddings(&inputs.iter().map(|input| told(input)).collect::<Vec<_>>())
    })
    .await
}

/// Asserts that an error says what it should, names the endpoint, and tells neither key nor text.
#[track_caller]
fn says(err: &EmbeddingError, expected: &str) {
    let text = err.to_string();
    assert!(text.contains(expected), "{text:?} should say {expected:?}");
    assert!(text.contains("127.0.0.1"), "{text:?} should name the endpoint");
    for secret in ["sk-secret", "private"] {
        assert!(!text.contains(secret), "{secret} is in {text:?}");
    }
    assert!(!format!("{err:?}").contains("sk-secret"), "the key is in {err:?}");
}

#[tokio::test]
async fn texts_are_asked_for_by_their_role_and_vectors_get_unit_length() {
    let reply = || embeddings(&[json!([3, 4]), json!([0, -2])]);
    let endpoint = Endpoint::start([reply(), reply()]).await;
    let embedder = endpoint.embedder();
    for role in [TextRole::Passage, TextRole::Query] {
        let texts = ["表格".to_owned(), "tables".to_owned()];
        let vectors = embedder.embed(&texts, role, Instant::now() + PATIENCE).await.unwrap();
        assert_eq!(vectors, [vector([0.6, 0.8]), vector([0.0, -1.0])]);
    }
    let calls = endpoint.calls();
    assert_eq!(calls[0].headers[header::AUTHORIZATION], "Bearer sk-secret");
    let body = |model: &str, texts: [&str; 2]| json!({"model": model, "input": texts, "encoding_format": "float"});
    assert_eq!(calls[0].body, body("tiny-passages", ["表格", "tables"]));
    assert_eq!(calls[1].body, body("tiny-queries", ["query: 表格", "query: tables"]));
}

#[tokio::test]
async fn many_texts_are_sent_in_batches_and_come_back_in_order() {
    let endpoint = Endpoint::answering(|body| {
        let mut data: Vec<_> = (inputs(body).iter().enumerate())
            .map(|(index, input)| json!({"index": index, "embedding": told(input)}))
            .collect();
        data.reverse();
        response(StatusCode::OK, json!({ "data": data }).to_string())
    })
    .await;
    let texts: Vec<_> = (1..=70).map(|chars| "x".repeat(chars)).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let vectors = embed(&endpoint, &texts, PATIENCE).await.unwrap();
    for (chars, embedding) in (1..=70_u16).zip(&vectors) {
        let Embedding::Vector { vector, is_cut: false } = embedding else {
            panic!("{embedding:?}")
        };
        assert!((vector[0] / vector[1] - f32::from(chars)).abs() < 0.01, "{chars}: {vector:?}");
    }
    let sizes: Vec<_> = endpoint.calls().iter().map(|call| inputs(&call.body).len()).collect();
    assert_eq!(sizes, [32, 32, 6]);
    assert!(embed(&endpoint, &[], PATIENCE).await.unwrap().is_empty());
    assert!(endpoint.calls().is_empty());
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let mut limited = response(StatusCode::TOO_MANY_REQUESTS, "slow down");
    limited.headers_mut().insert(header::RETRY_AFTER, "1".parse().unwrap());
    let broken = response(StatusCode::INTERNAL_SERVER_ERROR, "oops");
    let in_success = response(StatusCode::OK, r#"{"error": "loading the model"}"#);
    let endpoint =
        Endpoint::start([limited, broken, in_success, embeddings(&[json!([1, 0])])]).await;
    let started = Instant::now();
    let vectors = embed(&endpoint, &["private"], PATIENCE).await.unwrap();
    assert_eq!(vectors, [vector([1.0, 0.0])]);
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(endpoint.calls().len(), 4);
}

#[tokio::test]
async fn a_stalled_reply_ends_with_the_deadline() {
    let begun = Bytes::from_static(b"{\"data\": [{\"embed");
    let stalled = stream::iter([Ok::<_, std::io::Error>(begun)]).chain(stream::pending());
    let endpoint = Endpoint::start([response(StatusCode::OK, Body::from_stream(stalled))]).await;
    let started = Instant::now();
    let err = embed(&endpoint, &["private"], IMPATIENCE).await.unwrap_err();
    assert!(matches!(err, EmbeddingError::Call(Error::Deadline { .. })), "{err}");
    says(&err, "the embedding model at");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_refusal_of_everything_is_the_endpoints_and_names_the_setting() {
    let mut moved = response(StatusCode::TEMPORARY_REDIRECT, "");
    moved.headers_mut().insert(header::LOCATION, "/v1/elsewhere".parse().unwrap());
    let key = response(StatusCode::UNAUTHORIZED, r#"{"error": {"message": "bad sk-secret"}}"#);
    let absent = response(StatusCode::NOT_FOUND, "private");
    for (refusal, expected) in [
        (key, "401 Unauthorized; check EMBEDDING_API_KEY"),
        (absent, "404 Not Found; check EMBEDDING_BASE_URL and EMBEDDING_MODEL"),
        (moved, "307"),
    ] {
        let endpoint = Endpoint::start([refusal]).await;
        let err = embed(&endpoint, &["private", "more"], PATIENCE).await.unwrap_err();
        assert!(err.to_string().contains(expected), "{err} should say {expected}");
        assert_eq!(endpoint.calls().len(), 1);
    }
    // Of this one only a harmless text tells that it is not about the texts.
    let endpoint = picky(StatusCode::BAD_REQUEST, |_| true).await;
    let err = embed(&endpoint, &["private", "more"], PATIENCE).await.unwrap_err();
    says(&err, "400 Bad Request");
    assert_eq!(endpoint.calls().len(), 2);
}

#[tokio::test]
async fn what_is_no_reply_is_said_and_not_tried_again() {
    let one = json!([1, 0]);
    let twice = json!({"data": [{"index": 0, "embedding": one}, {"index": 0, "embedding": one}]});
    for (reply, expected) in [
        (response(StatusCode::OK, "<html>private</html>"), "no embeddings: not JSON"),
        (response(StatusCode::OK, r#"{"data": [{"embedding": [NaN]}]}"#), "not JSON"),
        (response(StatusCode::OK, r#"{"object": "list"}"#), "`data` is no list"),
        (embeddings(std::slice::from_ref(&one)), "has 1 vectors for 2 texts"),
        (embeddings(&[one.clone(), one.clone(), one]), "has 3 vectors for 2 texts"),
        (response(StatusCode::OK, twice.to_string()), "`data[1].index`"),
        (response(StatusCode::OK, vec![b' '; 10 * 1024 * 1024]), "more than 8388608 bytes"),
    ] {
        let endpoint = Endpoint::start([reply]).await;
        let err = embed(&endpoint, &["private", "more"], PATIENCE).await.unwrap_err();
        says(&err, expected);
        assert_eq!(endpoint.calls().len(), 1, "{expected}");
    }
}

#[tokio::test]
async fn a_vector_of_another_dimension_is_told() {
    let endpoint = Endpoint::start([
        embeddings(&[json!([1, 0])]),
        embeddings(&[json!([1, 0, 0])]),
        embeddings(&[json!([1, 0, 0]), json!([1])]),
    ])
    .await;
    let embedder = endpoint.embedder();
    let embed = async |texts: &[&str]| {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        embedder.embed(&texts, TextRole::Passage, Instant::now() + PATIENCE).await
    };
    embed(&["first"]).await.unwrap();
    for (texts, before, length) in [(&["private"][..], 2, 3), (&["private", "more"], 3, 1)] {
        let err = embed(texts).await.unwrap_err();
        says(&err, &format!("sends vectors of {length} numbers, and sent {before} before"));
        assert!(
            matches!(err, EmbeddingError::Dimension { expected, found, .. } if (expected, found) == (before, length))
        );
    }
}

#[tokio::test]
async fn a_text_without_a_usable_vector_is_refused_alone() {
    for none in [json!(null), json!("text"), json!([0, 0]), json!([1, null]), json!([1e300, 1])] {
        let endpoint = Endpoint::answering(move |body| {
            let vector = |input: &String| {
                if input == "bad" { none.clone() } else { told(input) }
            };
            embeddings(&inputs(body).iter().map(vector).collect::<Vec<_>>())
        })
        .await;
        let found = embed(&endpoint, &["a", "bad", "b"], PATIENCE).await.unwrap();
        let alone = told("a");
        assert!(matches!(found[0], Embedding::Vector { is_cut: false, .. }), "{alone}");
        assert_eq!((&found[1], &found[0]), (&Embedding::Refused, &found[2]));
    }
    // Where even a harmless text gets none, the endpoint is at fault.
    let endpoint = Endpoint::answering(|body| {
        embeddings(&inputs(body).iter().map(|_| json!(null)).collect::<Vec<_>>())
    })
    .await;
    let err = embed(&endpoint, &["private"], PATIENCE).await.unwrap_err();
    says(&err, "no embeddings: field `data[0].embedding` is no list of numbers");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_halved_until_it_is_taken() {
    for status in [400, 413, 422] {
        let status = StatusCode::from_u16(status).unwrap();
        let endpoint = picky(status, |input| input.chars().count() > 1_200).await;
        let long = "限".repeat(MAX_TEXT_CHARS + 1);
        let mut texts = vec!["short"; 9];
        texts[4] = &long;
        let found = embed(&endpoint, &texts, PATIENCE).await.unwrap();
        for (index, embedding) in found.iter().enumerate() {
            let Embedding::Vector { vector, is_cut } = embedding else { panic!("{embedding:?}") };
            assert_eq!(*is_cut, index == 4);
            let chars = (vector[0] / vector[1]).round();
            assert!((chars - if *is_cut { 1_000.0 } else { 5.0 }).abs() < 1.0, "{chars}");
        }
        assert!(endpoint.calls().iter().all(|call| {
            inputs(&call.body).iter().all(|input| input.chars().count() <= MAX_TEXT_CHARS)
        }));
    }
}

#[tokio::test]
async fn a_poisoned_text_is_refused_alone_and_the_others_get_their_vectors() {
    // Some servers answer 500 for a text whose vector is not finite.
    for status in [StatusCode::BAD_REQUEST, StatusCode::INTERNAL_SERVER_ERROR] {
        let endpoint = picky(status, |input| input.contains("poison")).await;
        let found = embed(&endpoint, &["a", "b", "poison", "c", "d"], PATIENCE).await.unwrap();
        let refused: Vec<_> = found.iter().map(|found| *found == Embedding::Refused).collect();
        assert_eq!(refused, [false, false, true, false, false], "{status}");
    }
}

#[tokio::test]
async fn an_endpoint_that_breaks_down_meanwhile_makes_no_text_refused() {
    let mut calls = 0;
    let endpoint = Endpoint::answering(move |body| {
        calls += 1;
        let inputs = inputs(body);
        // The first harmless text is taken, and from then on nothing is.
        if calls > 2 || inputs.iter().any(|input| input == "private") {
            return response(StatusCode::BAD_REQUEST, "");
        }
        embeddings(&inputs.iter().map(|input| told(input)).collect::<Vec<_>>())
    })
    .await;
    let err = embed(&endpoint, &["private", "more"], PATIENCE).await.unwrap_err();
    says(&err, "400 Bad Request");
}

#[tokio::test]
async fn a_limit_while_searching_for_the_culprit_is_waited_for() {
    let mut calls = 0;
    let endpoint = Endpoint::answering(move |body| -> Response<Body> {
        calls += 1;
        let inputs = inputs(body);
        match calls {
            1 => response(StatusCode::BAD_REQUEST, ""),
            3 => response(StatusCode::TOO_MANY_REQUESTS, ""),
            _ => embeddings(&inputs.iter().map(|input| told(input)).collect::<Vec<_>>()),
        }
    })
    .await;
    let found = embed(&endpoint, &["a", "b"], PATIENCE).await.unwrap();
    assert!(found.iter().all(|found| matches!(found, Embedding::Vector { .. })), "{found:?}");
    assert_eq!(endpoint.calls().len(), 5);
}
