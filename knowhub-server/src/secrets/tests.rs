//! What is taken for a secret, and what is not.

use serde_json::json;

use super::*;

/// Made-up secrets are put together here, so that no scanner takes this file for a leak.
fn made_up(length: usize) -> String {
    "q7Zk2XvB9mRt4WnC8pLs5HgD3fJy6TaE1uViN0oKxQwM".chars().cycle().take(length).collect()
}

#[track_caller]
fn check(text: &str, kind: &str) {
    let found = find(text).unwrap_or_else(|| panic!("not found: {kind} in {text}"));
    assert_eq!(found.kind, kind, "{text}");
    let redacted = redact(text);
    assert!(redacted.contains("[REDACTED]"), "{redacted}");
    assert!(find(&redacted).is_none(), "{redacted}");
}

#[test]
fn secrets_are_found_whatever_stands_around_them() {
    let upper = made_up(32).to_ascii_uppercase().replace(['0', '1', '8', '9'], "X");
    for (secret, kind) in [
        (format!("AKIA{}", &upper[..16]), "aws access key id"),
        (format!("ghp_{}", made_up(36)), "github token"),
        (
            format!("github_pat_{}_{}", made_up(22), made_up(59)),
            "github fine grained personal access token",
        ),
        (format!("glpat-{}", made_up(20)), "gitlab token"),
        (format!("sk-{}T3BlbkFJ{}", made_up(20), made_up(20)), "openai api key"),
        (format!("sk-ant-api03-{}AA", made_up(93)), "anthropic api key"),
        (format!("xoxb-123456789012-123456789012-{}", made_up(24)), "slack token"),
        (format!("hf_{}", "qZkXvBmRtWnCpLsHgDfJyTaEuViNoKxQwM"), "huggingface token"),
        // Random texts end in a repeated letter now and then.
        (format!("glpat-{}-AA", made_up(17)), "gitlab token"),
        (format!("glpat-{}_{}", made_up(15), "xxxx"), "gitlab token"),
        (format!("sk-ant-api03-{}-AA", made_up(92)), "anthropic api key"),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}", made_up(43)), "jwt"),
    ] {
        check(&secret, kind);
        check(&format!("用这个 {secret} 就行。"), kind);
        check(&format!("Run it with {secret}, then wait.\nIt works."), kind);
    }
}

#[test]
fn secrets_are_found_by_what_they_are_called() {
    let value = made_up(32);
    for text in [
        format!("api_key: {value}"),
        format!("{{\"api_key\": \"{value}\"}}"),
        format!("export DEEPSEEK_API_KEY=sk-{value}"),
        format!("client_secret=\"{value}\""),
        "password = \"hT7$kq9Lm2xZ\"".to_owned(),
        "DB_PASSWORD=hT7kq9Lm2xZw".to_owned(),
    ] {
        check(&text, "contextual secret");
    }
    check(
        &format!("curl -H 'Authorization: Bearer {value}' https://api.example.com"),
        "bearer token",
    );
    check("postgres://app:Xk29fjQp7wZ@db.internal:5432/prod", "connection string password");
    check("git clone https://deploy:h7Gq2kLpW9x@git.example.com/a", "connection string password");
    check("连接 mysql://root:Wd8fLq2x9Z@10.0.0.5/app，注意", "connection string password");
    check("账号 admin，密码：hT7kq9Lm2xZw，别外传", "password after \"密码\"");
    check("接口密钥是 `hT7kq9Lm2xZw`", "key after \"密钥\"");
    for text in [
        "密码（测试环境）：hT7kq9Lm2xZw",
        "密码 (root): hT7kq9Lm2xZw",
        "密码:\thT7kq9Lm2xZw",
        "密码：\nhT7kq9Lm2xZw",
        "| 密码 | hT7kq9Lm2xZw |",
        "密码设为 hT7kq9Lm2xZw",
        "密码就是 hT7kq9Lm2xZw",
        "密码→Summer-2024",
        "密码：hunter2024",
    ] {
        check(text, "password after \"密码\"");
    }
    check("密碼：hT7kq9Lm2xZw", "password after \"密碼\"");
    check("私鑰為 hT7kq9Lm2xZw", "private key after \"私鑰\"");
    let key = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
        made_up(64)
    );
    check(&key, "private key");
}

#[test]
fn formats_that_the_library_does_not_know_or_only_in_full_are_found() {
    for (prefix, secret, kind) in [
        ("sk-", "0123456789abcdef".repeat(2), "model provider key"),
        ("sk-", made_up(48), "vendor prefixed credential"),
        ("AccountKey=", format!("{}+/{}==", made_up(44), made_up(40)), "azure account key"),
        ("pypi-AgEI", format!("cHlwaS5vcmc_{}", made_up(30)), "pypi api token"),
        (
            "https://hooks.slack.com/services/",
            format!("T01ABCDEF2G/B03HIJKLM4N/{}", made_up(24)),
            "slack webhook",
        ),
    ] {
        check(&format!("{prefix}{secret}"), kind);
        check(&format!("用 `{prefix}{secret}` 就行。"), kind);
    }
}

#[test]
fn private_keys_are_found_whole_or_cut_off() {
    let body = made_up(64);
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        let head = format!("-----BEGIN {label}-----");
        check(&format!("{head}\n{body}"), "private key");
        check(&format!("my key:\n{head}\nVersion: GnuPG v2\n\n{body}\n{body}"), "private key");
        check(&format!("KEY=\"{head}\\n{body}\\n\""), "private key");
        check(&format!("{head}\r\n{body}\r\n-----END {label}-----"), "private key");
        check(&format!("\"{head}\\n\" +\n    \"{body}\\n\" +\n"), "private key");
        check(&format!("'{head}',\n'{body}',\n"), "private key");
        check(&format!("> {head}\n> {body}\n"), "private key");
        check(&format!("# {head}\n# {body}\n"), "private key");
    }
    let head = "-----BEGIN PGP PRIVATE KEY BLOCK-----";
    let text = format!("{head}\n\n{body}\n-----END PGP PRIVATE KEY BLOCK-----\nand more");
    assert_eq!(redact(&text), "[REDACTED]\nand more");
}

#[test]
fn a_value_is_judged_with_the_name_of_its_field() {
    let value = json!("f8d3Kx92mZpQ7vLw4TnB");
    for name in ["password", "passwd", "api_key", "apiKey", "secret", "token", "client_secret"] {
        for (body, field) in [
            (json!({ name: value }), format!("metadata.{name}")),
            (json!({ "db": { name: value } }), format!("metadata.db.{name}")),
            (json!({ "a": { name: ["", value] } }), format!("metadata.a.{name}[1]")),
        ] {
            let found = find_in(&PlainTexts::default().json("metadata", &body));
            let found = found.unwrap_or_else(|| panic!("not found: {body}"));
            assert_eq!(found.field, field);
            assert_eq!(found.kind, "contextual secret");
        }
    }
    for mark in [",", ";", "\"", "'", "`", "]", "}", "{", "\\", "#", "&a="] {
        let begins = [format!("{mark}Kx9mZ2pQv7Lw4T"), "[Kx9mZ2pQv7Lw4T".to_owned()];
        for value in begins.into_iter().chain([format!("Kx9mZ{mark}2pQv7Lw4T")]) {
            for name in ["password", "api_key", "token"] {
                let body = json!({ name: value });
                let found = find_in(&PlainTexts::default().json("metadata", &body));
                assert!(found.is_some(), "not found: {body}");
            }
        }
    }
    let tags = [("password".to_owned(), "f8d3Kx92mZpQ7vLw4TnB".to_owned())].into();
    assert!(find_in(&PlainTexts::default().map("tags", &tags)).is_some());
    for body in [
        json!({ "token_count": 5, "language": "python", "version": "1.2.3-beta.4" }),
        json!({ "password": "<your password>", "api_key": "YOUR_API_KEY", "token": "" }),
        json!({ "password": "see the vault", "secret": "none", "token": "Bearer" }),
        json!({ "password": "required", "token": "next_page", "secret": "${DB_PASSWORD}" }),
        json!({ "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }),
        json!({ "commit": "83d9cd684c87d95d656c1458ef04895a7f1cbd8e", "key": "F-key 12" }),
        json!({ "id": "550e8400-e29b-41d4-a716-446655440000", "token_type": "Bearer" }),
        json!({ "token": "cl100k_base", "secret": "app-tls-v2", "a": { "token": "o200k_base" } }),
        json!({ "token": "knowledge-20260305-a1b2" }),
        json!({ "secret": "The secret is to call find_tables() twice; then it works." }),
    ] {
        assert_eq!(find_in(&PlainTexts::default().json("metadata", &body)), None, "{body}");
    }
}

#[test]
fn no_other_field_hides_a_secret() {
    let secrets = [
        format!("ghp_{}", made_up(36)),
        format!("glpat-{}", made_up(20)),
        format!("api_key: {}", made_up(32)),
        "password = \"hT7$kq9Lm2xZ\"".to_owned(),
        "postgres://app:Xk29fjQp7wZ@db.internal:5432/prod".to_owned(),
        "密码：hT7kq9Lm2xZw".to_owned(),
        format!("AccountKey={}+/{}==", made_up(44), made_up(40)),
        format!("-----BEGIN PRIVATE KEY-----\n{}", made_up(64)),
    ];
    let around = [
        "",
        "\"",
        "'",
        "`",
        "password = \"",
        "password =",
        "key: '",
        "{\"a\": [",
        "<",
        "<!--",
        "//",
        "#",
        "example placeholder",
        "${",
        "-----BEGIN CERTIFICATE-----",
        "Authorization: Bearer",
        "\\",
    ];
    for secret in &secrets {
        for (before, after) in around.iter().flat_map(|before| around.map(|after| (*before, after)))
        {
            let texts = PlainTexts::default().text("task", before).text("tips", secret);
            let found = find_in(&texts.text("outcome", after));
            assert!(found.is_some(), "{secret} between {before} and {after}");
        }
    }
    for (before, after) in around.iter().flat_map(|before| around.map(|after| (*before, after))) {
        for value in ["f8d3Kx92mZpQ7vLw4TnB", "Kx9m\",2pQv7Lw4T", "Kx9m\\2pQv7'Lw4T"] {
            let texts = PlainTexts::default().text("task", before).text("db.password", value);
            let found = find_in(&texts.text("outcome", after));
            assert!(found.is_some(), "{value} between {before} and {after}");
        }
    }
}

#[test]
fn a_key_that_is_the_secret_is_told_nowhere() {
    let key = format!("ghp_{}", made_up(36));
    for body in [json!({ &key: "x" }), json!({ format!("my {key}"): { "a": "x" } })] {
        let found = find_in(&PlainTexts::default().json("metadata", &body)).unwrap();
        assert_eq!(found.field, "metadata");
    }
    let inner = json!({ "a": [{ &key: 1 }] });
    assert_eq!(
        find_in(&PlainTexts::default().json("metadata", &inner)).unwrap().field,
        "metadata.a[0]"
    );

    let fault = FieldFault::new(format!("tags.{key}"), format!("not a number: {key}"));
    assert_eq!(shown(&fault), FieldFault::new("tags", "not a number: [REDACTED]"));
    let fault = FieldFault::new(key, "unknown");
    assert_eq!(shown(&fault).to_string(), "unknown");
    let fault = FieldFault::new("tags.project", "must be text");
    assert_eq!(shown(&fault), fault);
}

#[test]
fn what_is_no_secret_passes() {
    for text in [
        "",
        "The password is in the vault; ask an admin for a password reset.",
        "密码请放在环境变量里，不要写进代码；密钥每季度轮换一次。",
        "密码：见保险库",
        "密码是必填项 required_field，令牌 access_token 见文档",
        "密钥是 RSA-2048 位",
        "密钥：AES-256-GCM",
        "私钥 secp256k1 曲线，密钥=ed25519 或 chacha20-poly1305，密钥为 sha256withRSA",
        "令牌为 OAuth2.0 格式",
        "令牌：https://example.com/v2/token",
        "密码：$DB_PASS1",
        "## 密码\n\nbcrypt2024 之后的版本才支持",
        "密码（至少 8 位）由管理员分配，见 wiki2024 页",
        "api_key=YOUR_API_KEY",
        "api_key: <your api key>",
        "export OPENAI_API_KEY=sk-...",
        "ghp_xxxxxxxx",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "glpat-xxxxxxxxxxxxxxxxxxxx",
        "xoxb-123456789012-123456789012-xxxxxxxxxxxxxxxxxxxxxxxx",
        "password = xxxxxxxx",
        "https://user:pass@host/path",
        "postgres://user:password@localhost/db",
        "password = os.environ[\"DB_PASSWORD\"]",
        "Authorization: Bearer $TOKEN",
        "AKIAIOSFODNN7EXAMPLE",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 83d9cd684c87d95d656c1458ef04895a7f1cbd8e",
        "550e8400-e29b-41d4-a716-446655440000",
        "knowledge-20260305-a1b2",
        "https://github.com/pymupdf/PyMuPDF",
        "git@github.com:a/b.git, user@example.com, http://127.0.0.1:8000",
        "page.find_tables(strategy=\"lines_strict\")",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END CERTIFICATE-----",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBF9xYZ0BEADabc123def456\n",
        "a file that begins with -----BEGIN OPENSSH PRIVATE KEY----- needs mode 0600",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n...\n-----END PGP PRIVATE KEY BLOCK-----",
        "-----BEGIN PRIVATE KEY-----\n<your key>\n-----END PRIVATE KEY-----",
        "use sk-… as the key, or sk-your-own-key-of-the-provider-goes-here",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "risk-0123456789abcdef0123456789abcdef, sk-learn, sk-1234",
        "AccountName=app;AccountKey=<key>, AccountKey=$KEY",
        "pypi-AgEI…, pypi-server, https://pypi.org/project/redis",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "https://hooks.slack.com/services/T…/B…/…",
        "password: <your password>",
        "API_KEY=your_api_key",
        "token: see above",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg",
    ] {
        assert_eq!(find(text), None, "{text}");
        assert!(matches!(redact(text), Cow::Borrowed(_)));
    }
}

#[test]
fn the_examples_pass() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let mut lines = 0;
    for file in std::fs::read_dir(examples).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path()).unwrap().lines() {
            assert_eq!(find(line), None, "{line}");
            lines += 1;
        }
    }
    assert!(lines > 0);
}

#[test]
fn each_secret_is_redacted_and_the_rest_stays() {
    let key = format!("ghp_{}", made_up(36));
    let text = format!("先 {key} 后 postgres://app:Xk29fjQp7wZ@db/x 完");
    assert_eq!(redact(&text), "先 [REDACTED] 后 postgres://app:[REDACTED]@db/x 完");
}

#[test]
fn a_field_is_named_and_its_secret_is_not() {
    let key = format!("ghp_{}", made_up(36));
    let texts = PlainTexts::default().text("task", "部署").text("tips", &key);
    let found = find_in(&texts).unwrap();
    assert_eq!(found.field, "tips");
    assert!(!format!("{found:?}").contains(&key));
}

#[test]
fn a_text_of_beginnings_is_read_once() {
    for piece in ["-----BEGIN PRIVATE KEY-----", "AccountKey=", "pypi-AgEI", "sk-a", "AccountKey"] {
        let text = piece.repeat(1024 * 1024 / piece.len());
        assert_eq!(formats::find_all(&text), [], "{piece}");
    }
    for piece in ["密码（", "密码：", "密 码", "密码 ("] {
        let text = piece.repeat(1024 * 1024 / piece.len());
        assert_eq!(labels::find_all(&text), [], "{piece}");
    }
}
