//! `knowhub eval`: how well a hub finds, measured on a question set.

mod interrupt;
mod told;

use std::{
    fs,
    path::{Path, PathBuf},
    pin::pin,
    sync::Mutex,
    time::Instant,
};

use anyhow::anyhow;
use clap::{ArgGroup, Args, builder::RangedU64ValueParser};
use protocol::KnowledgeId;

use interrupt::{given_up, interrupted};
use told::text;

use super::{
    Failure, Outcome,
    failure::Kind,
    items,
    progress::{Progress, bar},
};
use crate::{
    eval::{
        Error, Watch,
        ask::{self, Manner},
        calibration,
        gates::{Gate, Side},
        join, load, plot,
        report::{JoinedPairs, Report},
        scratch::ScratchHub,
        set::{self, File, Files, Format, Pairs, QuestionSet},
    },
    hub,
};

const EXAMPLES: &str = "\
Examples:
  knowhub eval --questions squad.json
  knowhub eval --questions zh.json --passages en.json --foreign other.json
  knowhub eval --questions topics.xml --passages docs.xml --qrels qrels.txt
  knowhub eval --questions q.jsonl --passages notes.jsonl --json > lexical.json
  EMBEDDING_BASE_URL=http://127.0.0.1:9000/v1 EMBEDDING_MODEL=e5 \\
      knowhub eval --questions q.jsonl --passages notes.jsonl --compare lexical.json --plot both.svg
  knowhub eval --questions q.jsonl --passages notes.jsonl --at-least r10=0.95 --at-most missed=0.02
  knowhub eval --questions zh.json --foreign other.json --fit calibration.json --missed 0.02
  knowhub eval --pairs paws.tsv --at-least precision=0.99

Formats, told apart by how a file begins:
  SQuAD  {\"data\": [{\"paragraphs\": [{\"context\": …, \"qas\": [{\"id\": …, \"question\": …}]}]}]}
         Passages of another file answer the questions with the same ids.
  TREC   <doc><docno>…<title>…<text>… and <top><num>…<title>…; judgments: `question 0 docno grade`
  JSONL  passages {\"id\", \"text\"} or {\"id\", \"task\", \"content\"}, questions {\"query\", \"ids\"}
  Pairs are lines under the tab-separated heads sentence1, sentence2 and label, 1 for the same.

The scratch hub sees EMBEDDING_*, LLM_* and SEARCH_* of the environment, nothing of your own hub.";

/// Measure how well a hub finds: load a question set into a scratch hub, and ask it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("set").args(["questions", "pairs"]).required(true).multiple(false))]
pub(super) struct Eval {
    /// The questions; also the passages where --passages is absent
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,

    /// The passages
    #[arg(long, value_name = "FILE", requires = "questions")]
    passages: Option<PathBuf>,

    /// Pairs of texts that say the same or only seem to: which of them the hub joins
    #[arg(long, value_name = "FILE", conflicts_with_all = ["passages", "qrels", "foreign", "keep"])]
    pairs: Option<PathBuf>,

    /// Which passage answers which question, where neither file says so (TREC)
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,

    /// Questions that no passage answers: how many of them return anything
    #[arg(long, value_name = "FILE")]
    foreign: Option<PathBuf>,

    /// How the files are written, where it cannot be told by how they begin
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    /// How many questions to ask at most
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,

    /// How many foreign questions to ask at most
    #[arg(long, value_name = "N", requires = "foreign", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    foreign_limit: Option<usize>,

    /// Draw the questions by chance, the same ones for the same number, instead of taking the first
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// How many questions at once; more than one is faster, and makes the times those of a busy hub
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    parallel: usize,

    /// Let a passage's grade be its gain in nDCG, as `trec_eval` does; else each one that answers gains 1
    #[arg(long)]
    graded: bool,

    /// The hub's program; by default `knowhub-server` beside this one, or on the PATH
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,

    /// Keep the hub's folder, and use it again when it holds the same passages
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    /// What this run is called in tables and pictures
    #[arg(long)]
    name: Option<String>,

    /// Show an earlier run beside this one, from what it printed with --json; repeat it for several
    #[arg(long, value_name = "FILE")]
    compare: Vec<PathBuf>,

    /// Draw a picture of the runs
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Fit what decides on relevance to this set and embedder, into a file for the hub's `SEARCH_CALIBRATION`
    #[arg(long, value_name = "FILE.json", requires = "foreign")]
    fit: Option<PathBuf>,

    /// The share of own questions that may return nothing, for which the fitted threshold is chosen
    #[arg(long, value_name = "SHARE", requires = "fit", default_value_t = 0.02, value_parser = parse_share)]
    missed: f64,

    /// Fail with 1 when a figure is less, such as r10=0.995; several by comma
    #[arg(long, value_name = "FIGURE=NUMBER", value_delimiter = ',', value_parser = |text: &str| Gate::parse(text, Side::AtLeast))]
    at_least: Vec<Gate>,

    /// Fail with 1 when a figure is more, such as foreign=0.05; several by comma
    #[arg(long, value_name = "FIGURE=NUMBER", value_delimiter = ',', value_parser = |text: &str| Gate::parse(text, Side::AtMost))]
    at_most: Vec<Gate>,
}

/// What is measured.
enum Task {
    Questions { set: QuestionSet, foreign: Vec<String> },
    Pairs(Pairs),
}

impl Eval {
    pub(super) async fn run(self) -> Result<Outcome, Failure> {
        self.check_gates()?;
        for path in [&self.plot, &self.fit].into_iter().flatten() {
            // Better told now than after all was measured.
            let open = fs::OpenOptions::new().create(true).append(true).open(path);
            open.map_err(Failure::cannot("write", &path.display().to_string()))?;
        }
        let mut runs =
            self.compare.iter().map(|path| earlier(path)).collect::<Result<Vec<_>, _>>()?;
        let task = self.read()?;
        let mut interrupted = pin!(interrupted());
        let started = tokio::select! {
            biased;
            () = &mut interrupted => None,
            hub = ScratchHub::start(self.server.as_deref(), self.keep.as_deref()) => Some(hub),
        };
        let Some(hub) = started else { return Ok(given_up()) };
        let mut hub = hub.map_err(failure)?;
        let measured = tokio::select! {
            biased;
            () = &mut interrupted => None,
            report = self.measure(hub.client(), hub.kept(), &task) => Some(report),
        };
        let measured = measured.map(|report| report.map_err(|err| failure(hub.blamed(err))));
        hub.stop().await.map_err(failure)?;
        let Some(report) = measured else { return Ok(given_up()) };
        runs.insert(0, self.gated(report?));
        self.draw(&runs)?;
        self.write_calibration(&runs[0])?;
        let mut outcome = Outcome::done(text(&runs), &runs[0]);
        let holds = runs[0].by_words == 0 && runs[0].gates.iter().all(|gate| gate.holds);
        outcome.exit_code = u8::from(!holds && !runs[0].gates.is_empty());
        Ok(outcome)
    }

    fn read(&self) -> Result<Task, Failure> {
        if let Some(path) = &self.pairs {
            let mut pairs = Pairs::read(&file(path)?).map_err(Failure::input)?;
            pairs.pairs = set::sample(pairs.pairs, self.limit, self.seed);
            return Ok(Task::Pairs(pairs));
        }
        let Some(questions) = &self.questions else {
            return Err(Failure::input(anyhow!("expected --questions or --pairs")));
        };
        let files = Files {
            questions: file(questions)?,
            passages: self.passages.as_deref().map(file).transpose()?,
            qrels: self.qrels.as_deref().map(file).transpose()?,
            format: self.format,
        };
        let mut set = QuestionSet::read(&files).map_err(Failure::input)?;
        set.questions = set::sample(set.questions, self.limit, self.seed);
        let foreign = match &self.foreign {
            Some(path) => QuestionSet::questions_of(&file(path)?, None).map_err(Failure::input)?,
            None => Vec::new(),
        };
        let foreign = set::sample(foreign, self.foreign_limit, self.seed);
        Ok(Task::Questions { set, foreign })
    }

    async fn measure(
        &self,
        client: &hub::Client,
        kept: Option<&Path>,
        task: &Task,
    ) -> Result<Report, Error> {
        let progress = Mutex::new(Progress::new());
        let watch = |doing: &str, done, of| {
            let progress = progress.lock();
            // One that is broken by a panic shows nothing more.
            let _ = progress.map(|mut progress| progress.show(|| bar(doing, done, of)));
        };
        let mut report = Report { name: self.what(), ..Report::default() };
        let started = Instant::now();
        match task {
            Task::Pairs(pairs) => {
                let (joined, space) = join::join(client, &pairs.pairs, &watch).await?;
                report.pairs = Some(joined);
                report.load_s = started.elapsed().as_secs_f64();
                report.left_out.clone_from(&pairs.left_out);
                report.embedder = space;
            }
            Task::Questions { set, foreign } => {
                let records = load::load(client, kept, &set.passages, &watch).await?;
                report.embedder = load::settle(client, &watch).await?;
                report.load_s = started.elapsed().as_secs_f64();
                report.passages = set.passages.len() as u64;
                report.left_out.clone_from(&set.left_out);
                self.ask(client, (set, &records), foreign, &mut report, &watch).await?;
            }
        }
        if let Some(calibration) = &mut report.calibration {
            calibration.space.clone_from(&report.embedder);
        }
        if self.name.is_none() {
            let embedder = report.embedder.as_deref().unwrap_or("no embedder");
            report.name = format!("{}, {embedder}", report.name);
        }
        Ok(report)
    }

    async fn ask(
        &self,
        client: &hub::Client,
        (set, records): (&QuestionSet, &[KnowledgeId]),
        foreign: &[String],
        report: &mut Report,
        watch: Watch<'_>,
    ) -> Result<(), Error> {
        let manner =
            Manner { parallel: self.parallel, graded: self.graded, wants_hits: self.fit.is_some() };
        let own = ask::own(client, &set.questions, records, manner, watch).await?;
        report.add_own(&own);
        if self.foreign.is_none() {
            return Ok(());
        }
        let foreign = ask::foreign(client, foreign, manner, watch).await?;
        report.add_foreign(&foreign);
        if self.fit.is_some() {
            let features = calibration::features(client).await?;
            let passages = set.questions.iter().map(|question| question.answers[0].passage);
            let own: Vec<_> = passages.zip(own).collect();
            let fitted = calibration::fit(&own, &foreign, features, self.missed);
            report.calibration = Some(fitted.map_err(Error::Calibration)?);
        }
        Ok(())
    }

    /// Returns what is measured, in a few words.
    fn what(&self) -> String {
        let stem =
            |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let set = self.questions.as_ref().or(self.pairs.as_ref()).map(stem).unwrap_or_default();
        let over = self.passages.as_ref().filter(|path| Some(*path) != self.questions.as_ref());
        let over = over.map(|path| format!(" over {}", stem(path))).unwrap_or_default();
        self.name.clone().unwrap_or_else(|| set + &over)
    }

    fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.at_least.iter().chain(&self.at_most)
    }

    /// Refuses a gate on a figure that this run will not have.
    fn check_gates(&self) -> Result<(), Failure> {
        let mut shape = Report::default();
        if self.pairs.is_some() {
            shape.pairs = Some(JoinedPairs::default());
        } else {
            shape.add_own(&[]);
        }
        if self.foreign.is_some() {
            shape.add_foreign(&[]);
        }
        let Some(gate) = self.gates().find(|gate| gate.check(&shape).is_none()) else {
            return Ok(());
        };
        let what = anyhow!("this run does not measure {}, on which a gate stands", gate.measure());
        Err(Failure {
            kind: Kind::Setting,
            error: what,
            hint: Some(
                "`foreign` needs --foreign; `joined`, `precision` and `recall` need --pairs",
            ),
        })
    }

    fn gated(&self, mut report: Report) -> Report {
        report.gates = self.gates().filter_map(|gate| gate.check(&report)).collect();
        report
    }

    fn write_calibration(&self, report: &Report) -> Result<(), Failure> {
        let (Some(path), Some(calibration)) = (&self.fit, &report.calibration) else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(calibration).expect("it has string keys");
        fs::write(path, text + "\n").map_err(Failure::cannot("write", &path.display().to_string()))
    }

    fn draw(&self, runs: &[Report]) -> Result<(), Failure> {
        let Some(path) = &self.plot else { return Ok(()) };
        let name = path.display().to_string();
        fs::write(path, plot::svg(runs)).map_err(Failure::cannot("write", &name))
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 up to 1, such as 0.02".to_owned())
}

fn file(path: &Path) -> Result<File, Failure> {
    let name = if path == Path::new("-") { "stdin".into() } else { path.to_string_lossy() };
    Ok(File::new(name, &items::read(path)?))
}

/// Reads what an earlier run printed.
fn earlier(path: &Path) -> Result<Report, Failure> {
    let what = || format!("{} is not what `knowhub eval --json` prints", path.display());
    let report = serde_json::from_str::<Report>(&items::read(path)?)
        .map_err(|err| Failure::input(anyhow::Error::from(err).context(what())))?;
    // Other JSON objects have none of a report's fields.
    if report.name.is_empty() { Err(Failure::input(anyhow!(what()))) } else { Ok(report) }
}

fn failure(err: Error) -> Failure {
    let (kind, hint) = match &err {
        Error::Set(_) | Error::Folder { .. } | Error::Io(_) | Error::Calibration(_) => {
            (Kind::Input, None)
        }
        Error::Start { .. } => {
            let hint = "build it with `cargo build --bin knowhub-server`, or name it with --server";
            (Kind::Setting, Some(hint))
        }
        Error::Hub { source, .. } if source.is_about_request() => (Kind::Input, None),
        Error::Ended { .. } | Error::Hub { .. } | Error::Stalled(_) => (Kind::Service, None),
    };
    Failure { kind, error: err.into(), hint }
}
