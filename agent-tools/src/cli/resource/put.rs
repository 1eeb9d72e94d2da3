//! `knowhub resource put`: stores a resource; texts and secrets come from files.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use protocol::{
    ResourceId,
    hub::{Body, ContentType, Metadata, NewResource, SecretText},
};
use serde_json::Value;

use crate::{
    cli::{Failure, Kind, Outcome, cited, content::told, items},
    settings,
    tools::Context,
};

const EXAMPLES: &str = "\
It takes the place of the resource with this id: what is left out becomes empty, except the secret,
which stays. What it said before is kept as a version.
Where there is a secret already, the org's key must stand in KNOWHUB_ORG_KEY.

Examples:
  knowhub resource put pymupdf --title PyMuPDF --body overview.md
  pass show acme/site | knowhub resource put acme/site --type credential --secret -
  knowhub resource put acme/cookie --type cookie --secret cookie.txt \\
      --meta expires_at=2026-12-31T00:00:00Z";

/// Store a resource, with a secret or without
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Put {
    /// Its id: a path whose first segment is the org whose key seals the secret
    #[arg(value_parser = cited::resource_id)]
    id: ResourceId,

    /// Its title
    #[arg(long, default_value = "", hide_default_value = true)]
    title: String,

    /// A file with what everybody may read and find; `-` is stdin
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,

    /// A file with what only the org's key opens, but for a line end at its end; `-` is stdin
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,

    /// What the body is: text, code, credential or cookie
    #[arg(long = "type", value_name = "TYPE", default_value = "text")]
    content_type: ContentType,

    /// What else is known of it, such as language=python or expires_at=2026-12-31T00:00:00Z; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_meta)]
    meta: Vec<(String, String)>,

    /// Its place among its siblings, smallest first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    sort_order: i64,

    /// Who stores it, such as an e-mail address
    #[arg(long, default_value = "", hide_default_value = true)]
    submitted_by: String,
}

impl Put {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let is_stdin = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        if is_stdin(&self.body) && is_stdin(&self.secret) {
            let error = anyhow!("--body and --secret cannot both be stdin");
            return Err(Failure { kind: Kind::Setting, error, hint: None });
        }
        let key = settings::org_key()?;
        let metadata = self.meta.into_iter().map(|(name, value)| (name, Value::String(value)));
        let resource = NewResource {
            id: self.id,
            title: self.title,
            body: self.body.map(|file| items::read(&file)).transpose()?.unwrap_or_default(),
            secure_body: self.secret.map(|file| read_secret(&file)).transpose()?,
            content_type: self.content_type,
            metadata: Metadata(metadata.collect()),
            sort_order: self.sort_order,
            submitted_by: self.submitted_by,
            on_behalf_of: None,
        };
        resource.check().map_err(Failure::input)?;
        let stored = context.hub.save_resource(&resource, key.as_ref(), None).await?;
        Ok(Outcome::done(told(&stored), &stored))
    }
}

fn read_secret(file: &Path) -> Result<SecretText, Failure> {
    let mut text = items::read(file)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    // Empty text would remove the secret that is there, which a program that printed nothing did not mean.
    if text.is_empty() {
        return Err(Failure::input(anyhow!("{} holds no secret", file.display())));
    }
    Ok(text.into())
}

fn parse_meta(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, such as language=python".to_owned()),
    }
}
