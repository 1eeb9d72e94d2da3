//! The hub's client.

use agent_tools::hub::{Error, KnowledgeQuery, Paging, ResourceQuery};
use protocol::ExperienceId;
use protocol::hub::{ContentType, DemandKind, ErrorCode, NewContent, NewExperience, NewKnowledge};
use secrecy::SecretString;
use serde_json::json;

use crate::scripted_hub::{Hub, client, record, refusal, with_records};

#[tokio::test]
async fn calls_are_what_the_hub_expects() {
    let hub = Hub::start(with_records).await;
    let client = hub.client();
    let experience = NewExperience { name: "n".into(), task: "t".into(), ..Default::default() };
    let created = client.add_experience(&experience, Some("key-1")).await.unwrap();
    assert_eq!(created.id.0, 8);
    let knowledge = NewKnowledge { task: "t".into(), content: "c".into(), ..Default::default() };
    client.add_knowledge(&knowledge, None).await.unwrap();
    client.search_experiences("a b&c", Some("library"), 3).await.unwrap();
    let query = KnowledgeQuery { top_k: Some(2), ..KnowledgeQuery::new("表 格") };
    assert_eq!(client.search_knowledge(&query).await.unwrap().count, 1);
    let asked = hub.asked();
    let calls: Vec<_> = asked.iter().map(|asked| asked.call.as_str()).collect();
    let expected = [
        "POST /api/experience",
        "POST /api/knowledge",
        "GET /api/search",
        "GET /api/knowledge/search",
    ];
    assert_eq!(calls, expected);
    assert_eq!(asked[0].headers["idempotency-key"], "key-1");
    assert!(!asked[1].headers.contains_key("idempotency-key"));
    assert_eq!(asked[1].body["content"], "c");
    assert_eq!(asked[2].query, "q=a+b%26c&limit=3&category=library");
    assert_eq!(asked[3].query, "q=%E8%A1%A8+%E6%A0%BC&top_k=2");
    for asked in &asked {
        assert_eq!(asked.headers["authorization"], "Bearer hub-secret");
    }
}

#[tokio::test]
async fn evidence_takes_turns_between_both_searches() {
    let hub = Hub::start(with_records).await;
    let sources = hub.client().retrieve("tables", 5).await.unwrap();
    let ids: Vec<_> = sources.iter().map(|source| source.id.to_string()).collect();
    assert_eq!(ids, ["knowledge-20260305-a1b2", "experience-7"]);
}

#[tokio::test]
async fn an_absent_record_is_none() {
    let id = "knowledge-20260305-a1b2".parse().unwrap();
    let hub = Hub::start(|_| refusal(404, "not_found", "no such record")).await;
    assert_eq!(hub.client().find_knowledge(&id).await.unwrap(), None);
    let hub = Hub::start(|_| (200, record().to_string())).await;
    assert_eq!(hub.client().find_knowledge(&id).await.unwrap().unwrap().id, id);
}

#[tokio::test]
async fn contents_resources_and_demand_are_asked_for_by_path_and_parameters() {
    let hub = Hub::start(|call| match call {
        "GET /api/resource" | "GET /api/demand" => {
            (200, json!({ "results": [], "total": 0, "page": 1, "page_size": 20 }).to_string())
        }
        "POST /api/content" | "POST /api/resource" => {
            (201, json!({ "id": "a/b", "version": 1, "created": true }).to_string())
        }
        _ => refusal(404, "not_found", "there is nothing stored under it"),
    })
    .await;
    let client = hub.client();
    let key = SecretString::from("a2V5");
    let id = "acme/登录".parse().unwrap();
    let paging = Paging { page: Some(2), page_size: None };
    assert_eq!(client.find_content(&id).await.unwrap(), None);
    assert_eq!(client.find_resource("A Paper/x", paging, Some(&key)).await.unwrap(), None);
    assert_eq!(client.find_experience(ExperienceId(7)).await.unwrap(), None);
    let node: NewContent = serde_json::from_value(json!({"id": "a/b", "body": "c"})).unwrap();
    client.submit_content(&node, None).await.unwrap();
    client.save_resource(&json!({"id": "a/b"}), Some(&key), Some("k")).await.unwrap();
    let query = ResourceQuery {
        q: Some("c d".into()),
        prefix: Some(id),
        content_type: Some(ContentType::Code),
        paging,
    };
    client.list_resources(&query).await.unwrap();
    client.list_demand(Some(DemandKind::Content), paging).await.unwrap();
    let asked = hub.asked();
    let calls: Vec<_> = asked.iter().map(|asked| (&*asked.call, &*asked.query)).collect();
    assert_eq!(
        calls,
        [
            ("GET /api/content/acme/%E7%99%BB%E5%BD%95", ""),
            ("GET /api/resource/A%20Paper/x", "page=2"),
            ("GET /api/experience/7", ""),
            ("POST /api/content", ""),
            ("POST /api/resource", ""),
            (
                "GET /api/resource",
                "page=2&q=c+d&prefix=acme%2F%E7%99%BB%E5%BD%95&content_type=code",
            ),
            ("GET /api/demand", "page=2&kind=content"),
        ]
    );
    for (at, asked) in asked.iter().enumerate() {
        let key = asked.headers.get("x-org-key").map(|key| key.to_str().unwrap());
        assert_eq!(key, [1, 4].contains(&at).then_some("a2V5"), "{}", asked.call);
    }
    let wrong = SecretString::from("two\nlines");
    let err = client.find_resource("a", Paging::default(), Some(&wrong)).await.unwrap_err();
    assert!(matches!(err, Error::OrgKey), "{err:?}");
    assert_eq!(hub.asked().len(), asked.len(), "nothing is sent without the key it needs");
}

#[tokio::test]
async fn a_refusal_carries_the_hubs_words() {
    let hub = Hub::start(|_| refusal(422, "invalid", "q: required")).await;
    let err = hub.client().search_experiences("", None, 1).await.unwrap_err();
    assert_eq!(err.to_string(), "the hub refused (422): q: required");
    assert!(!err.is_transient());
    let Error::Refused { status: 422, detail } = err else { panic!("{err:?}") };
    assert_eq!(detail.code, ErrorCode::Invalid);
    let hub = Hub::start(|_| refusal(503, "unavailable", "try again")).await;
    assert!(hub.client().health().await.unwrap_err().is_transient());
}

#[tokio::test]
async fn what_is_no_hub_is_told_apart() {
    for script in [|_: &str| (200, "<html>".to_owned()), |_: &str| (502, "bad gateway".to_owned())]
    {
        let hub = Hub::start(script).await;
        let err = hub.client().health().await.unwrap_err();
        assert!(matches!(err, Error::BadReply { .. }), "{err:?}");
        assert!(err.to_string().ends_with("is KNOWHUB_API the hub's address?"), "{err}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let hub = Hub::start(|_| (302, String::new())).await;
    let err = hub.client().health().await.unwrap_err();
    assert!(matches!(err, Error::BadReply { status: 302, .. }), "{err:?}");
}

#[tokio::test]
async fn a_hub_that_is_away_is_named_without_the_question() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let err = client(&api).retrieve("my secret plan", 5).await.unwrap_err();
    assert!(err.is_transient());
    let text = format!("{:#}", anyhow::Error::from(err));
    assert!(text.starts_with(&format!("hub not reachable at {api}/")), "{text}");
    assert!(text.contains("set KNOWHUB_API"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_caller_who_is_not_let_in_is_told_apart() {
    let hub = Hub::start(|call| match call {
        "GET /readyz" => with_records(call),
        _ => refusal(401, "unauthorized", "the token is not known here"),
    })
    .await;
    let err = hub.client().health().await.unwrap_err();
    assert!(err.is_about_access() && !err.is_transient(), "{err:?}");
    assert!(err.to_string().contains("the token is not known here"), "{err}");

    let resource = json!({"id": "acme/login"});
    let hub = Hub::start(|_| refusal(403, "forbidden", "writing needs the role writer")).await;
    let err = hub.client().save_resource(&resource, None, None).await.unwrap_err();
    assert!(err.is_about_access() && !err.is_about_request(), "{err:?}");
    // An org's key is the request's own: whoever sends it without, it is refused.
    let sealed = |_: &str| {
        let error = json!({"code": "forbidden", "message": "send the key", "field": "X-Org-Key"});
        (403, json!({ "error": error }).to_string())
    };
    let err = Hub::start(sealed).await.client().save_resource(&resource, None, None).await;
    let err = err.unwrap_err();
    assert!(err.is_about_request() && !err.is_about_access(), "{err:?}");
}

#[tokio::test]
async fn a_hub_that_cannot_do_all_its_work_is_not_well() {
    let building = |_: &str| {
        let reason = "the search index is being built";
        (503, json!({ "status": "unready", "reason": reason }).to_string())
    };
    let err = Hub::start(building).await.client().health().await.unwrap_err();
    assert!(err.is_transient(), "{err:?}");
    assert!(err.to_string().ends_with("is not ready: the search index is being built"), "{err}");
    let hub = Hub::start(|call| match call {
        "GET /readyz" => with_records(call),
        _ => refusal(500, "internal", "a fault of the hub's own"),
    })
    .await;
    assert!(hub.client().health().await.unwrap_err().to_string().contains("fault of the hub's"));
    let hub = Hub::start(with_records).await;
    hub.client().health().await.unwrap();
}

#[tokio::test]
async fn a_hub_that_is_asked_too_often_is_asked_again_once() {
    let hub = Hub::start(|_| refusal(429, "rate_limited", "come back at once")).await;
    let err = hub.client().search_experiences("a", None, 1).await.unwrap_err();
    assert!(err.is_transient(), "{err:?}");
    assert_eq!(hub.asked().len(), 2);
}
