//! What is taken for a secret, and what is not.

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
    let key = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
        made_up(64)
    );
    check(&key, "private key");
}

#[test]
fn what_is_no_secret_passes() {
    for text in [
        "",
        "The password is in the vault; ask an admin for a password reset.",
        "密码请放在环境变量里，不要写进代码；密钥每季度轮换一次。",
        "密码：见保险库",
        "密码是必填项 required_field，令牌 access_token 见文档",
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
