//! The commands of `knowhub`: what they take, and what they print.
//!
//! # Layout
//!
//! - `ask`, `upload`, `search`, `experience`, `knowledge`, `content`, `resource`, `demand`, `export`, `import`,
//!   `contacts`, `reseal`, `doctor`, `eval`: one command each.
//! - `items`: reads the files that commands take.
//! - `cited`: reads the ids that they show.
//! - `paging`: which page of a list they show.
//! - `progress`: how far a long command is, for a person who waits.
//! - `outcome`: what a command gives back, for people and for programs.
//! - `failure`: errors, their exit codes, and how they are told.

mod ask;
mod cited;
mod contacts;
mod content;
mod demand;
mod doctor;
mod eval;
mod experience;
mod export;
mod failure;
mod import;
mod items;
mod knowledge;
mod outcome;
mod paging;
mod progress;
mod reseal;
mod resource;
mod search;
mod upload;

use std::{ffi::OsString, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use protocol::im::Mode;
use tracing_subscriber::EnvFilter;

pub use doctor::Origins;
pub use failure::{Failure, Kind};
pub use outcome::Outcome;

use crate::{
    hub,
    settings::{ContactArgs, HubArgs, ImArgs},
    tools::{ASK_TIMEOUT, Context},
};

const EXAMPLES: &str = "\
Examples:
  knowhub ask \"How do I extract tables from a paper's PDF?\"
  knowhub ask \"怎么从论文 PDF 里提取表格？\" --json
  knowhub experience add --name pymupdf --task \"extract tables\" --score 4
  knowhub experience show \"[experience-7]\"
  knowhub upload notes.jsonl --finalize
  knowhub demand
  knowhub export everything.ndjson
  knowhub doctor

Data goes to stdout, everything else to stderr. Exit codes:
  0    done; finding nothing is no error
  1    the input is wrong: a bad item, an unreadable file, something the service refuses;
       or the output cannot be written
  2    the command line or a setting is wrong
  3    a service or the network is at fault
  255  a fault of this program";

/// The collective memory of a team of agents: ask it before you start, report to it when you are done
#[derive(Debug, Parser)]
#[command(name = "knowhub", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
struct Globals {
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    /// What to log to stderr, such as `info` or `agent_tools=debug`
    #[arg(
        long,
        global = true,
        env = "LOG_FILTER",
        value_name = "LOG_FILTER",
        default_value = "error",
        value_parser = parse_log_filter
    )]
    log_filter: String,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    relay: ImArgs,
    #[command(flatten)]
    contact: ContactArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ask(ask::Ask),
    Upload(upload::Upload),
    Search(search::Search),
    #[command(subcommand)]
    Experience(experience::Experience),
    #[command(subcommand)]
    Knowledge(knowledge::Knowledge),
    #[command(subcommand)]
    Content(content::Content),
    #[command(subcommand)]
    Resource(resource::Resource),
    Demand(demand::Demand),
    Export(export::Export),
    Import(import::Import),
    Contacts(contacts::Contacts),
    Reseal(reseal::ResealSecrets),
    Doctor(doctor::Doctor),
    Eval(Box<eval::Eval>),
}

/// How long a command may take to reach the relay, where it needs it.
const RELAY_PATIENCE: Duration = Duration::from_secs(5);

impl Cli {
    /// Reads a command line, program name first; the environment gives what it leaves out.
    ///
    /// Where each address came from is kept, for `doctor` to tell.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<(Self, Origins), clap::Error> {
        let matches = Self::command().try_get_matches_from(args)?;
        let cli = Self::from_arg_matches(&matches)?;
        Ok((cli, Origins::of(&matches)))
    }

    /// Returns whether programs read the output.
    pub fn wants_json(&self) -> bool {
        self.globals.json
    }

    /// Returns what to log.
    pub fn log_filter(&self) -> &str {
        &self.globals.log_filter
    }

    /// Runs the command.
    pub async fn run(self, origins: &Origins) -> Result<Outcome, Failure> {
        let context = self.globals.context()?;
        let outcome = match self.command {
            Command::Ask(ask) => ask.run(&context).await,
            Command::Upload(upload) => upload.run(&context).await,
            Command::Search(search) => search.run(&context).await,
            Command::Experience(experience) => experience.run(&context).await,
            Command::Knowledge(knowledge) => knowledge.run(&context).await,
            Command::Content(node) => node.run(&context).await,
            Command::Resource(resource) => resource.run(&context).await,
            Command::Demand(demand) => demand.run(&context).await,
            Command::Export(export) => export.run(&context).await,
            Command::Import(import) => import.run(&context).await,
            Command::Contacts(contacts) => contacts.run(&context).await,
            Command::Reseal(reseal) => reseal.run(&context).await,
            Command::Doctor(doctor) => Ok(doctor.run(&context, origins).await),
            Command::Eval(eval) => eval.run().await,
        };
        context.close().await;
        outcome
    }
}

fn parse_log_filter(text: &str) -> Result<String, String> {
    let expected = "expected a level or a list, such as `info` or `agent_tools=debug`";
    EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|err| format!("{err}; {expected}"))
}

impl Globals {
    fn context(&self) -> Result<Context, Failure> {
        let hub = hub::Client::new(self.hub.config())?;
        let client = concat!("knowhub/", env!("CARGO_PKG_VERSION"));
        let relay = self.relay.config(self.contact.instance(), Mode::Exclusive, client);
        Ok(Context::new(hub, relay, self.contact.librarian.clone(), ASK_TIMEOUT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every command that does something, with its name from the first word on.
    fn visit(command: &clap::Command, name: &str, check: &impl Fn(&clap::Command, &str)) {
        if !command.has_subcommands() {
            check(command, name);
        }
        for inner in command.get_subcommands() {
            visit(inner, &format!("{name} {}", inner.get_name()), check);
        }
    }

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_teaches_by_examples() {
        let command = Cli::command();
        assert!(command.get_after_help().unwrap().to_string().contains("Examples:\n  knowhub "));
        visit(&command, "knowhub", &|command, name| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
            assert!(
                examples.contains(&format!("{name} ")) || examples.contains(&format!("{name}\n")),
                "{name}: {help}"
            );
            // A line that clap has to break is no command to copy.
            let long = help.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{name}");
        });
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let refused = |args: &str| {
            let args = args.split(' ').map(OsString::from);
            Cli::read(args).map(drop).unwrap_err().exit_code()
        };
        for args in [
            "knowhub experience add --file a --score 3",
            "knowhub experience add --file a --url http://b",
            "knowhub content add a b --file c",
            "knowhub content add --file c --title d",
            "knowhub upload a --timeout 3s",
            "knowhub upload a --finalize --no-wait --timeout 3s",
            "knowhub search a --top-k 21",
            "knowhub search a --min-score 0",
            "knowhub search a --tag b",
            "knowhub experience search a --limit 101",
            "knowhub demand --kind all",
            "knowhub demand --page 0",
            "knowhub resource put a --meta b",
        ] {
            assert_eq!(refused(args), 2, "{args}");
        }
        for args in [
            "knowhub experience add --file a",
            "knowhub content add --file c",
            "knowhub upload a --finalize --timeout 3s",
            "knowhub resource put a",
        ] {
            let read = Cli::read(args.split(' ').map(OsString::from));
            assert!(read.is_ok(), "{args}: {}", read.map(drop).unwrap_err());
        }
    }
}
