//! Sudden death of the hub in each stage of the processing: what was reported is processed, once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::{system::System, wait};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A chat endpoint that names no relation and no tool, or stays silent where it is asked about one kind.
#[derive(Clone, Default)]
struct Endpoint {
    /// What its silence is about: a word of the prompt.
    silent_about: Arc<std::sync::Mutex<String>>,
    silenced: Arc<AtomicUsize>,
    answers: Arc<AtomicBool>,
}

impl Endpoint {
    /// Serves on a free port, and returns the base address.
    async fn serve(&self) -> Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let endpoint = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let endpoint = endpoint.clone();
                tokio::spawn(async move { endpoint.converse(stream).await });
            }
        });
        Ok(base_url)
    }

    async fn converse(self, mut stream: TcpStream) -> Result<()> {
        let request = read_request(&mut stream).await?;
        let silent_about = self.silent_about.lock().unwrap().clone();
        if !self.answers.load(Ordering::Relaxed) && request.contains(&silent_about) {
            self.silenced.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        let reply = json!({ "choices": [{ "message": { "role": "assistant", "content": "[]" },
                                          "finish_reason": "stop" }] })
        .to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{reply}", reply.len());
        Ok(stream.write_all(answer.as_bytes()).await?)
    }
}

async fn read_request(stream: &mut TcpStream) -> Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 8_192];
    loop {
        let read = stream.read(&mut piece).await?;
        ensure!(read > 0, "the request ended early");
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        if body.len() >= length {
            return Ok(text.into_owned());
        }
    }
}

async fn get(system: &System, path: &str) -> Result<Value> {
    Ok(reqwest::get(format!("{}{path}", system.api())).await?.json().await?)
}

#[tokio::test]
async fn a_hub_killed_in_any_stage_loses_no_record() {
    for (word, status) in
        [("how the new record relates", "processing"), ("which of the tools", "analyzing")]
    {
        let endpoint = Endpoint::default();
        word.clone_into(&mut endpoint.silent_about.lock().unwrap());
        let base_url = endpoint.serve().await.unwrap();
        let mut system = System::stopped(vec![("LLM_BASE_URL", base_url)]).unwrap();
        system.start_hub().await.unwrap();
        let tool = json!({ "id": "tools/pdf/camelot", "title": "Camelot" });
        system.post("/api/resource", &tool).await.unwrap();
        let mut ids = Vec::new();
        for number in 0..6 {
            let content = format!("camelot finds the tables of a paper, way {number}");
            let body = json!({ "task": "extract tables from a paper", "content": content });
            let stored = system.post("/api/knowledge", &body).await.unwrap();
            ids.push(stored["id"].as_str().unwrap().to_owned());
        }
        wait::until("a step in flight", async || {
            let listed = get(&system, &format!("/api/knowledge?status={status}")).await?;
            ensure!(endpoint.silenced.load(Ordering::Relaxed) > 0, "nobody was asked");
            ensure!(listed["total"].as_u64() > Some(0), "{listed}");
            Ok(())
        })
        .await
        .unwrap();
        system.hub.take().unwrap().kill().await.unwrap();

        endpoint.answers.store(true, Ordering::Relaxed);
        system.start_hub().await.unwrap();
        for id in &ids {
            wait::until("the processing", async || {
                let told = get(&system, &format!("/api/knowledge/{id}/processing")).await?;
                let stage = told["stage"].as_str().context("a stage")?;
                ensure!(stage == "done", "{told}");
                ensure!(told["status"] == "approved" && told["judged"] == true, "{told}");
                Ok(())
            })
            .await
            .unwrap();
        }
        let listed = get(&system, "/api/knowledge?page_size=100").await.unwrap();
        assert_eq!(listed["total"], ids.len(), "each is there once");
        let tool = get(&system, "/api/resource/tools/pdf/camelot").await.unwrap();
        assert_eq!(tool["metadata"].get("knowledge_ids"), None, "the model picked none");
        system.stop().await.unwrap();
    }
}
