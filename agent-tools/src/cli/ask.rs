//! `knowhub ask`: a question to the librarian.

use std::{fmt::Write as _, time::Duration};

use clap::Args;
use protocol::librarian::AnswerMode;

use super::{
    Failure, Outcome,
    outcome::{STRONG, printable},
};
use crate::{
    settings::parse_patience,
    tools::{
        Context,
        ask_knowledge::{self, Answer},
    },
};

const EXAMPLES: &str = "\
Examples:
  knowhub ask \"How do I extract tables from a paper's PDF?\"
  knowhub ask \"怎么从论文 PDF 里提取表格？\" --timeout 10s
  knowhub ask \"which PDF library is fast?\" --json | jq -r '.source_ids[]'

The librarian answers with citations. When it cannot be reached, or does not answer within the
timeout, the hub is searched directly, and the answer says so: mode \"search\", with the reason.";

/// Ask the librarian, and get an answer that cites its sources
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ask {
    /// The question, in Chinese or English
    #[arg(required = true)]
    question: Vec<String>,

    /// How long to wait for the librarian, such as 30s, 1500ms or 2m; a bare number is milliseconds
    #[arg(
        long = "timeout",
        env = "ASK_TIMEOUT_MS",
        value_name = "ASK_TIMEOUT_MS",
        default_value = "30000",
        value_parser = parse_patience
    )]
    timeout: Duration,
}

impl Ask {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let answer = ask_knowledge::ask(context, &self.question.join(" "), self.timeout).await?;
        let mut outcome = Outcome::done(text(&answer), &answer);
        // A direct search says in its own text that it is one, and why.
        outcome.note = answer.reason.filter(|_| answer.mode != AnswerMode::Search);
        Ok(outcome)
    }
}

fn text(answer: &Answer) -> String {
    let mut text = printable(answer.response.trim_end());
    let cited = answer.sources.iter().filter(|source| answer.source_ids.contains(&source.id));
    // Any other answer consists of its sources.
    if answer.mode != AnswerMode::Integrated || cited.clone().next().is_none() {
        return text;
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "\n\n{STRONG}Sources{STRONG:#}");
    for source in cited {
        let _ = write!(text, "\n  {} {}", source.id.to_citation(), printable(&source.task));
    }
    text
}
