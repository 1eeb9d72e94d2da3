//! `knowhub ask`: a question to the librarian.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
    pin::pin,
    time::Duration,
};

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

/// How long an answer may take before the person who waits is told.
const LONG: Duration = Duration::from_secs(1);

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
        let question = self.question.join(" ");
        let asking = ask_knowledge::ask(context, &question, self.timeout);
        let answer = watched(asking, self.timeout).await?;
        let mut outcome = Outcome::done(text(&answer), &answer);
        // A direct search says in its own text that it is one, and why.
        outcome.note = answer.reason.filter(|_| answer.mode != AnswerMode::Search);
        Ok(outcome)
    }
}

/// Waits for the answer; a person at a terminal is told, once it takes long, how long it may take.
async fn watched<T>(asking: impl Future<Output = T>, patience: Duration) -> T {
    let mut asking = pin!(asking);
    tokio::select! {
        answer = &mut asking => answer,
        () = tokio::time::sleep(LONG), if io::stderr().is_terminal() => {
            let patience = patience.as_secs_f64();
            // Nobody is there to be told when the terminal is gone.
            let _ = writeln!(
                anstream::stderr(),
                "waiting for the librarian; direct search takes over after {patience} s …"
            );
            asking.await
        }
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
