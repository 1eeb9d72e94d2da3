//! Embeddings: made in the background, found by meaning, and whatever the model's endpoint does, searches go on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use knowhub_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::harness::{TestHub, config, index_folder, until};

/// Words that mean the same to the endpoint's model.
const SYNONYMS: [(&str, &str); 3] = [("表格", "table"), ("提取", "extract"), ("image", "picture")];

/// The model that embeds queries, where the hub is told of one.
const QUERY_MODEL: &str = "words-of-queries";

/// An embedding endpoint for which texts are the nearer the more words they share, in either language.
#[derive(Clone)]
struct Endpoint {
    state: Arc<Mutex<Scene>>,
    base_url: String,
}

#[derive(Default)]
struct Scene {
    dimension: usize,
    /// The dimension of [`QUERY_MODEL`], if it is another.
    query_dimension: Option<usize>,
    is_dead: bool,
    /// How often each text was embedded.
    embedded: HashMap<String, usize>,
}

impl Endpoint {
    async fn start() -> Self {
        let scene = Scene { dimension: 64, ..Scene::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let endpoint = Self { state: Arc::new(Mutex::new(scene)), base_url };
        let routes = Router::new().route("/v1/embeddings", post(embed));
        let app = routes.with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        endpoint
    }

    fn set(&self, change: impl FnOnce(&mut Scene)) {
        change(&mut self.state.lock().unwrap());
    }

    fn times_embedded(&self, text: &str) -> usize {
        self.state.lock().unwrap().embedded.get(text).copied().unwrap_or(0)
    }

    fn config(&self, folder: &TempDir, model: &str) -> Config {
        let config = config(folder);
        let embeddings = llm::embedding::Settings {
            embedding_base_url: Some(self.base_url.clone()),
            embedding_model: Some(model.to_owned()),
            ..llm::embedding::Settings::default()
        };
        Config { embeddings, ..config }
    }

    async fn hub(&self) -> TestHub {
        let folder = tempfile::tempdir().unwrap();
        let config = self.config(&folder, "words");
        TestHub::start_with(folder, &config).await
    }
}

async fn embed(
    State(endpoint): State<Endpoint>,
    Json(request): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let mut scene = endpoint.state.lock().unwrap();
    if scene.is_dead {
        return (StatusCode::BAD_GATEWAY, Json(json!({ "error": { "message": "dead" } })));
    }
    let texts: Vec<String> = match &request["input"] {
        Value::String(text) => vec![text.clone()],
        texts => serde_json::from_value(texts.clone()).unwrap(),
    };
    let of_queries = scene.query_dimension.filter(|_| request["model"] == QUERY_MODEL);
    let dimension = of_queries.unwrap_or(scene.dimension);
    let mut data = Vec::new();
    for (index, text) in texts.into_iter().enumerate() {
        if text.contains("unspeakable") {
            return (StatusCode::BAD_REQUEST, Json(json!({ "error": { "message": "no" } })));
        }
        data.push(json!({ "index": index, "embedding": vector(&text, dimension) }));
        *scene.embedded.entry(text).or_default() += 1;
    }
    (
        StatusCode::OK,
        Json(json!({ "data": data, "usage": { "prompt_tokens": 1, "total_tokens": 1 } })),
    )
}

/// Returns a vector that has a bump for each word.
fn vector(text: &str, dimension: usize) -> Vec<f32> {
    let mut text = text.to_lowercase();
    for (word, same) in SYNONYMS {
        text = text.replace(word, &format!(" {same} "));
    }
    let mut vector = vec![0.0; dimension];
    vector[0] = 0.1;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.bytes().fold(7_usize, |hash, byte| hash * 31 % 8191 + usize::from(byte));
        vector[1 + hash % (dimension - 1)] += 1.0;
    }
    vector
}

async fn embeddings(hub: &TestHub) -> Value {
    hub.get("/api/embeddings").await.body
}

async fn all_embedded(hub: &TestHub, records: u64) {
    until(async || {
        let told = embeddings(hub).await;
        told["stage"] == "current" && told["embedded"] == records && told["remaining"] == 0
    })
    .await;
}

async fn add(hub: &TestHub, task: &str, content: &str) -> String {
    hub.add_knowledge(json!({ "task": task, "content": content })).await
}

#[tokio::test]
async fn how_relevance_is_decided_is_told_and_can_be_given_back() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let told = hub.get("/api/calibration").await.body;
    assert_eq!(told["space"], "words");
    assert!(told["features"].as_array().unwrap().contains(&json!("deviations")), "{told}");
    let folder = hub.stop().await;
    let path = folder.path().join("calibration.json");
    std::fs::write(&path, told.to_string()).unwrap();
    let config = endpoint.config(&folder, "words");
    let config = Config { search_calibration: Some(path), ..config };
    let hub = TestHub::start_with(folder, &config).await;
    assert_eq!(hub.get("/api/calibration").await.body, told);
    let by_words = TestHub::start_in(hub.stop().await).await;
    let told = by_words.get("/api/calibration").await.body;
    assert_eq!((&told["space"], &told["features"][0]), (&Value::Null, &json!("share")));
    by_words.stop().await;
}

#[tokio::test]
async fn what_means_the_same_is_found() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    assert_eq!(embeddings(&hub).await["records"], 0);
    let tables = add(&hub, "Extract table", "find it").await;
    let picture = add(&hub, "Shrink picture", "use less color").await;
    all_embedded(&hub, 2).await;

    let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), ("all", "true")]).await.body;
    assert_eq!(found["results"][0]["id"], tables, "{found}");
    let signals = &found["results"][0]["signals"];
    assert!(signals["vector"].as_f64().unwrap() > 0.5 && signals["lexical"].is_null(), "{signals}");
    assert_eq!(found["by_vectors"], true, "{found}");
    let found = hub.find("/api/knowledge/search", &[("q", "image"), ("all", "true")]).await.body;
    assert_eq!(found["results"][0]["id"], picture);

    let ready = hub.get("/readyz").await.body;
    assert_eq!(ready["embedding"]["stage"], "current", "{ready}");
    assert_eq!(ready["embedding"]["dimension"], 64);
    hub.stop().await;
}

#[tokio::test]
async fn filters_hold_for_vectors_and_changes_are_seen_at_once() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let mine = hub
        .add_knowledge(
            json!({ "task": "Extract table", "content": "a", "owner": "me", "tags": { "k": "v" } }),
        )
        .await;
    let yours =
        hub.add_knowledge(json!({ "task": "Extract table", "content": "b", "owner": "you" })).await;
    all_embedded(&hub, 2).await;
    let found = async |filter: (&str, &str)| {
        let params = [("q", "提取表格"), ("all", "true"), filter];
        let found = hub.find("/api/knowledge/search", &params).await.body;
        crate::harness::strings(&found["results"], "id")
    };
    assert_eq!(found(("owner", "me")).await, [mine.as_str()]);
    assert_eq!(found(("tags", "k:v")).await, [mine.as_str()]);
    assert!(found(("owner", "nobody")).await.is_empty());

    let patch = json!({ "owner": "me", "tags": { "k": "v" } });
    hub.call("PATCH".parse().unwrap(), &format!("/api/knowledge/{yours}"), &[], Some(&patch)).await;
    assert_eq!(found(("owner", "me")).await.len(), 2);
    assert_eq!(found(("tags", "k:v")).await.len(), 2);
    hub.call("DELETE".parse().unwrap(), &format!("/api/knowledge/{mine}"), &[], None).await;
    assert_eq!(found(("owner", "me")).await, [yours.as_str()]);
    let patch = json!({ "task": "Shrink picture" });
    hub.call("PATCH".parse().unwrap(), &format!("/api/knowledge/{yours}"), &[], Some(&patch)).await;
    until(async || endpoint.times_embedded("Shrink picture\nb") == 1).await;
    all_embedded(&hub, 1).await;
    let found = hub.find("/api/knowledge/search", &[("q", "image"), ("all", "true")]).await.body;
    assert_eq!(found["results"][0]["id"], yours);
    hub.stop().await;
}

#[tokio::test]
async fn a_restart_embeds_nothing_twice() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let id = add(&hub, "Extract table", "1").await;
    add(&hub, "Shrink picture", "2").await;
    all_embedded(&hub, 2).await;
    let mut folder = hub.stop().await;
    for is_index_lost in [false, true] {
        let vectors = index_folder(&folder, "vectors");
        assert!(vectors.is_dir(), "the index is saved at a stop");
        if is_index_lost {
            std::fs::remove_dir_all(vectors).unwrap();
        }
        let config = endpoint.config(&folder, "words");
        let hub = TestHub::start_with(folder, &config).await;
        all_embedded(&hub, 2).await;
        let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), ("all", "true")]).await;
        assert_eq!(found.body["results"][0]["id"], id);
        folder = hub.stop().await;
    }
    assert_eq!(endpoint.times_embedded("Extract table\n1"), 1);
}

#[tokio::test]
async fn an_edited_record_keeps_no_old_vector_over_a_crash() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let id = add(&hub, "Extract table", "b").await;
    all_embedded(&hub, 1).await;
    let folder = hub.stop().await;
    let config = endpoint.config(&folder, "words");
    let hub = TestHub::start_with(folder, &config).await;
    all_embedded(&hub, 1).await;
    let patch = json!({ "task": "Shrink picture" });
    hub.call("PATCH".parse().unwrap(), &format!("/api/knowledge/{id}"), &[], Some(&patch)).await;
    until(async || endpoint.times_embedded("Shrink picture\nb") == 1).await;
    all_embedded(&hub, 1).await;

    let crashed = hub.crashed();
    hub.stop().await;
    let config = endpoint.config(&crashed, "words");
    let hub = TestHub::start_with(crashed, &config).await;
    all_embedded(&hub, 1).await;
    let found = hub.find("/api/knowledge/search", &[("q", "image"), ("all", "true")]).await.body;
    let cosine = found["results"][0]["signals"]["vector"].as_f64();
    assert!(cosine.is_some_and(|cosine| cosine > 0.5), "{found}");
    assert_eq!(endpoint.times_embedded("Shrink picture\nb"), 1, "its vector was stored");
    hub.stop().await;
}

#[tokio::test]
async fn another_model_or_dimension_embeds_all_anew_while_searches_go_on() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let id = add(&hub, "Extract table", "1").await;
    all_embedded(&hub, 1).await;
    let folder = hub.stop().await;

    endpoint.set(|scene| scene.is_dead = true);
    let config = endpoint.config(&folder, "others");
    let hub = TestHub::start_with(folder, &config).await;
    assert_eq!(hub.ids("extract table").await, [id.as_str()], "by words alone");
    until(async || !embeddings(&hub).await["problem"].as_str().unwrap().is_empty()).await;
    let told = embeddings(&hub).await;
    assert_eq!((&told["embedded"], &told["remaining"]), (&json!(0), &json!(1)), "{told}");
    assert_eq!(told["stage"], "building", "{told}");
    endpoint.set(|scene| scene.is_dead = false);
    all_embedded(&hub, 1).await;
    assert_eq!(endpoint.times_embedded("Extract table\n1"), 2);

    endpoint.set(|scene| scene.dimension = 32);
    add(&hub, "Shrink picture", "2").await;
    all_embedded(&hub, 2).await;
    let told = embeddings(&hub).await;
    assert_eq!(told["dimension"], 32, "{told}");
    let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), ("all", "true")]).await.body;
    assert_eq!(found["results"][0]["id"], id);
    hub.stop().await;
}

#[tokio::test]
async fn how_much_remains_is_told_while_the_model_is_dead() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    add(&hub, "Extract table", "1").await;
    all_embedded(&hub, 1).await;
    endpoint.set(|scene| scene.is_dead = true);
    add(&hub, "Shrink picture", "2").await;
    until(async || embeddings(&hub).await["remaining"] == 1).await;
    endpoint.set(|scene| scene.is_dead = false);
    all_embedded(&hub, 2).await;
    hub.stop().await;
}

#[tokio::test]
async fn another_dimension_is_noticed_by_a_search() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let id = add(&hub, "Extract table", "1").await;
    all_embedded(&hub, 1).await;
    endpoint.set(|scene| scene.dimension = 32);
    assert_eq!(hub.ids("extract table").await, [id.as_str()], "by words alone");
    until(async || embeddings(&hub).await["dimension"] == 32).await;
    all_embedded(&hub, 1).await;
    until(async || {
        let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), ("all", "true")]).await;
        found.body["by_vectors"] == true && found.body["results"][0]["id"] == id
    })
    .await;
    hub.stop().await;
}

#[tokio::test]
async fn queries_of_another_dimension_than_passages_embed_nothing_anew() {
    let endpoint = Endpoint::start().await;
    endpoint.set(|scene| scene.query_dimension = Some(32));
    let folder = tempfile::tempdir().unwrap();
    let config = endpoint.config(&folder, "words");
    let embeddings_of_two = llm::embedding::Settings {
        embedding_query_model: Some(QUERY_MODEL.to_owned()),
        ..config.embeddings
    };
    let config = Config { embeddings: embeddings_of_two, ..config };
    let hub = TestHub::start_with(folder, &config).await;
    let id = add(&hub, "Extract table", "1").await;
    all_embedded(&hub, 1).await;
    assert_eq!(hub.ids("extract table").await, [id.as_str()], "by words alone");
    until(async || {
        let problem = embeddings(&hub).await["problem"].clone();
        problem.as_str().unwrap().contains("EMBEDDING_QUERY_MODEL")
    })
    .await;
    all_embedded(&hub, 1).await;
    assert_eq!(embeddings(&hub).await["dimension"], 64);
    assert_eq!(endpoint.times_embedded("Extract table\n1"), 1);
    hub.stop().await;
}

#[tokio::test]
async fn another_dimension_and_another_model_in_a_burst_lose_nothing() {
    let endpoint = Endpoint::start().await;
    let mut hub = endpoint.hub().await;
    for number in 0..150 {
        match number {
            50 => endpoint.set(|scene| scene.dimension = 32),
            100 => {
                let folder = hub.stop().await;
                let config = endpoint.config(&folder, "others");
                hub = TestHub::start_with(folder, &config).await;
            }
            _ => {}
        }
        add(&hub, &format!("Extract table {number}"), "x").await;
    }
    all_embedded(&hub, 150).await;
    let told = embeddings(&hub).await;
    assert_eq!((&told["space"], &told["dimension"]), (&json!("others"), &json!(32)), "{told}");
    let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), ("all", "true")]).await.body;
    assert_eq!(found["by_vectors"], true, "{found}");
    hub.stop().await;
}

#[tokio::test]
async fn a_dead_model_in_a_burst_loses_nothing() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    for number in 0..150 {
        if number == 70 {
            endpoint.set(|scene| scene.is_dead = true);
        }
        let id = add(&hub, &format!("Extract table {number}"), "x").await;
        if number % 50 == 0 {
            assert!(hub.ids(&format!("extract table {number}")).await.contains(&id));
        }
    }
    assert!(!hub.ids("extract table").await.is_empty());
    endpoint.set(|scene| scene.is_dead = false);
    all_embedded(&hub, 150).await;
    hub.stop().await;
}

#[tokio::test]
async fn a_text_that_the_model_refuses_is_found_by_words() {
    let endpoint = Endpoint::start().await;
    let hub = endpoint.hub().await;
    let refused = add(&hub, "unspeakable things", "hold nothing up").await;
    add(&hub, "Extract table", "1").await;
    all_embedded(&hub, 1).await;
    assert_eq!(embeddings(&hub).await["refused"], 1);
    assert_eq!(hub.ids("things that hold nothing up").await, [refused.as_str()]);
    hub.stop().await;
}
