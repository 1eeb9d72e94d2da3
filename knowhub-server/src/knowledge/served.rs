//! Recognizing what the hub gave out and an agent sends back as new: sentence by sentence, in the very words.
//!
//! A text is served when each of its sentences stands in a stored record, or cites some that say most of it; a sentence of
//! its own makes it new.

use std::{cell::LazyCell, collections::BTreeSet};

use protocol::{KnowledgeId, SourceId, hub::Knowledge};

use super::text_hash::normalized;
use crate::text::{content_tokens, is_cjk};

/// The least that a served text says, in characters; a shorter one may be said twice by chance.
const MIN_CHARS: usize = 40;

/// The same of a text in Chinese, Japanese or Korean, which says more in a character.
const MIN_CJK_CHARS: usize = 12;

/// The beginning of a sentence that was cut off (`…`) must be at least this long to be known by it, in characters.
const MIN_CUT_CHARS: usize = 20;

/// How far a bracket may be from its other half to hold a citation, in bytes.
const MAX_CITATION_BYTES: usize = 400;

/// Words that turn a sentence around, as [`pieces`] has them.
const NEGATIONS: [&str; 22] = [
    "no", "not", "never", "nor", "none", "without", "cannot", "don", "doesn", "didn", "isn",
    "aren", "wasn", "won", "不", "没", "未", "别", "勿", "无", "非", "莫",
];

/// What answers and prompts put around records; says nothing by itself.
const FRAMES: [&str; 6] = [
    "the most relevant records as they were found (not put together by a model)",
    "以下是检索到的最相关记录的原文(未经模型整合)",
    "begin records",
    "end records",
    "begin data",
    "end data",
];

/// One sentence of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// As it compares.
    text: String,
    /// It was cut off, so that its end is not known.
    is_cut: bool,
    /// What it cites.
    pub(crate) cites: Vec<SourceId>,
}

/// A text that may have been served.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    sentences: Vec<Sentence>,
}

impl Suspect {
    /// Returns the text's sentences, unless it says too little to be recognized.
    pub(crate) fn of(content: &str) -> Option<Self> {
        let sentences = sentences(content);
        let all = sentences.iter().flat_map(|sentence| sentence.text.chars());
        let (chars, cjk) =
            all.fold((0, 0), |(chars, cjk), c| (chars + 1, cjk + usize::from(is_cjk(c))));
        (chars >= MIN_CHARS || cjk >= MIN_CJK_CHARS).then_some(Self { sentences })
    }

    /// Returns what it says, without citations and frames.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> =
            self.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
        texts.join("\n")
    }

    /// Returns the knowledge that it cites.
    pub(crate) fn cited(&self) -> BTreeSet<KnowledgeId> {
        let all = self.sentences.iter().flat_map(|sentence| &sentence.cites);
        all.filter_map(|id| match id {
            SourceId::Knowledge(id) => Some(id.clone()),
            _ => None,
        })
        .collect()
    }

    /// Returns the records that it was taken from, those first that gave most; nothing when a sentence is its own.
    ///
    /// `stored` are records that may have it, those that it cites among them.
    pub(crate) fn taken_from<'a>(&self, stored: &'a [Knowledge]) -> Vec<&'a Knowledge> {
        let said: Vec<BTreeSet<String>> = stored.iter().map(says).collect();
        // Few sentences cite, and of a long record this takes long.
        let known: Vec<_> = stored.iter().map(|one| LazyCell::new(move || told(one))).collect();
        let mut given = vec![0_usize; stored.len()];
        for sentence in &self.sentences {
            let verbatim = said.iter().position(|said| sentence.stands_in(said));
            let cited = || {
                let is_cited = |place: &usize| sentence.cites_record(&stored[*place].id);
                let first = (0..stored.len()).find(is_cited)?;
                let cited: Vec<_> =
                    (first..stored.len()).filter(is_cited).map(|place| &*known[place]).collect();
                sentence.adds_nothing_to(&cited).then_some(first)
            };
            match verbatim.or_else(cited) {
                Some(place) => given[place] += sentence.text.len().max(1),
                None => return Vec::new(),
            }
        }
        let mut places: Vec<usize> = (0..stored.len()).filter(|place| given[*place] > 0).collect();
        places.sort_by_key(|place| std::cmp::Reverse(given[*place]));
        places.into_iter().map(|place| &stored[place]).collect()
    }
}

impl Sentence {
    fn stands_in(&self, said: &BTreeSet<String>) -> bool {
        if !self.is_cut || self.text.chars().count() < MIN_CUT_CHARS {
            return said.contains(&self.text);
        }
        let next = said.range(self.text.clone()..).next();
        next.is_some_and(|sentence| sentence.starts_with(&self.text))
    }

    fn cites_record(&self, id: &KnowledgeId) -> bool {
        self.cites.iter().any(|cited| matches!(cited, SourceId::Knowledge(cited) if cited == id))
    }

    /// Tells whether records say most of it, and each of its numbers and negations.
    fn adds_nothing_to(&self, told: &[&BTreeSet<String>]) -> bool {
        let pieces = pieces(&self.text);
        let is_told = |piece: &&String| told.iter().any(|told| told.contains(*piece));
        let is_firm = |piece: &String| {
            NEGATIONS.contains(&piece.as_str()) || piece.chars().any(char::is_numeric)
        };
        let count = pieces.iter().filter(is_told).count();
        2 * count > pieces.len() && !pieces.iter().any(|piece| is_firm(piece) && !is_told(&piece))
    }
}

/// Returns what a record says, in [`pieces`].
fn told(record: &Knowledge) -> BTreeSet<String> {
    pieces(&format!("{}\n{}", record.task, record.content))
}

/// Returns the words of a text that mean something, stemmed, and its Chinese, Japanese and Korean characters.
fn pieces(text: &str) -> BTreeSet<String> {
    let mut pieces = BTreeSet::new();
    for token in content_tokens(text) {
        if token.chars().all(is_cjk) {
            pieces.extend(token.chars().map(String::from));
        } else {
            pieces.insert(token);
        }
    }
    pieces
}

fn says(record: &Knowledge) -> BTreeSet<String> {
    let all = [&record.task, &record.content].into_iter().flat_map(|text| sentences(text));
    all.map(|sentence| sentence.text).collect()
}

/// Splits a text into sentences; a citation behind the end of one belongs to it.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = Vec::new();
    let (mut said, mut cites) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((ids, after)) = citation(rest) {
            match sentences.last_mut() {
                Some(last) if said.trim().is_empty() => last.cites.extend(ids),
                _ => cites.extend(ids),
            }
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        said.push(c);
        let is_end = match c {
            '。' | '！' | '？' | '!' | '?' | '；' | ';' | '\n' | '…' => true,
            '.' => rest.chars().next().is_none_or(|next| next.is_whitespace() || next == '['),
            _ => false,
        };
        if is_end {
            end(&mut sentences, &mut said, &mut cites);
        }
    }
    end(&mut sentences, &mut said, &mut cites);
    sentences
}

fn end(sentences: &mut Vec<Sentence>, said: &mut String, cites: &mut Vec<SourceId>) {
    let is_cut = said.trim_end().ends_with('…');
    let text = normalized(said);
    let text = text.trim_start_matches(['-', '*', '•', '#', '>', ' ']);
    let text = text.trim_end_matches(|c: char| ".。!?;:,…\"' ".contains(c)).trim();
    said.clear();
    if text.is_empty() {
        // What only cites belongs to what was said before.
        if let Some(last) = sentences.last_mut() {
            last.cites.append(cites);
        }
    } else if FRAMES.contains(&text) {
        cites.clear();
    } else {
        sentences.push(Sentence { text: text.to_owned(), is_cut, cites: std::mem::take(cites) });
    }
}

/// Returns the ids of a citation at the beginning of a text, and what follows it.
fn citation(text: &str) -> Option<(Vec<SourceId>, &str)> {
    let open = text.chars().next()?;
    let close = match open {
        '[' => ']',
        '(' => ')',
        '【' => '】',
        '（' => '）',
        _ => return None,
    };
    let inner = &text[open.len_utf8()..];
    let end = inner[..inner.floor_char_boundary(MAX_CITATION_BYTES)].find(close)?;
    let ids = inner[..end].split([',', '，', '、', ';', ' ']).filter(|id| !id.is_empty());
    let ids: Vec<SourceId> = ids.map(str::parse).collect::<Result<_, _>>().ok()?;
    (!ids.is_empty()).then(|| (ids, &inner[end + close.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use protocol::{
        Timestamp,
        hub::{KnowledgeStatus, NewKnowledge},
    };

    use super::*;
    use crate::{access::Stamp, knowledge::new_record};

    fn record(number: u16, task: &str, content: &str) -> Knowledge {
        let report =
            NewKnowledge { task: task.into(), content: content.into(), ..NewKnowledge::default() };
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, number);
        new_record(report, Stamp::default(), id, KnowledgeStatus::Approved, now)
    }

    fn stored() -> [Knowledge; 2] {
        [
            record(
                1,
                "从论文提取表格",
                "有框线的表格用 pdfplumber 的 lattice 策略。扫描件先做 OCR，再核对每一页的列数！",
            ),
            record(
                2,
                "Shrink a Docker image",
                "Build in one stage and copy only the binary into the next. Strip it as well.",
            ),
        ]
    }

    #[track_caller]
    fn check(content: &str, from: &[usize]) {
        let stored = stored();
        let taken = Suspect::of(content).map(|suspect| suspect.taken_from(&stored).len());
        let places: Vec<usize> = Suspect::of(content).map_or(Vec::new(), |suspect| {
            let taken = suspect.taken_from(&stored);
            taken.iter().map(|one| stored.iter().position(|it| it.id == one.id).unwrap()).collect()
        });
        assert_eq!(places, from, "{content} {taken:?}");
    }

    #[test]
    fn what_was_served_is_recognized() {
        let [a, b] = stored();
        check(&a.content, &[0]);
        check("扫描件先做 OCR，再核对每一页的列数", &[0]);
        check(&format!("- {} [{}]\n  {}", a.task, a.id, a.content), &[0]);
        let english = "Build in one  stage and copy only the binary into the next.";
        check(&format!("{english} [{}]\n{}", b.id, a.content), &[0, 1]);
        check(
            &format!(
                "表格要看有没有框线，再决定怎么做。[{}] Copy the binary out of one stage [{}].",
                a.id, b.id
            ),
            &[0, 1],
        );
        check(
            &format!("扫描件 OCR 之后再核对每页的列数，binary 要 strip [{}, {}]。", a.id, b.id),
            &[0],
        );
        check("Build in one stage and copy only the bin…", &[1]);
        let head = "以下是检索到的最相关记录的原文（未经模型整合）：";
        check(&format!("{head}\n\n{}", a.content), &[0]);
    }

    #[test]
    fn what_says_something_of_its_own_is_new() {
        let [a, b] = stored();
        check(&format!("{} 三线表例外。", a.content), &[]);
        check(&format!("有人说：“{}”，我试了不行", a.content), &[]);
        check(&format!("我在 40 页的论文上试过，两种策略都行 [{}]。结论：先看框线。", a.id), &[]);
        check("Build in one stage and copy only the binary into the next, never strip it.", &[]);
        check("It is wrong to build in one stage and copy only the binary into the next.", &[]);
        check("有框线的表格用 pdfplumber 的 stream 策略。", &[]);
        for own in [
            "pdfplumber 会漏掉旋转页面的第三列",
            "pdfplumber drops the third column of rotated pages",
            "有框线的表格不用 pdfplumber 的 lattice 策略",
            "有框线的表格用 pdfplumber 0.11 的 lattice 策略",
        ] {
            check(&format!("{own} [{}]。", a.id), &[]);
        }
        check(&format!("Never copy only the binary into the next stage [{}].", b.id), &[]);
        check("再核对列数", &[]);
        check(&b.task, &[]);
        check("", &[]);
    }

    #[test]
    fn brackets_that_nothing_closes_cost_little() {
        let text = "（".repeat(100_000);
        // What is looked at once for each of them would be gigabytes in all.
        assert_eq!(sentences(&text).len(), 1);
        let id = &stored()[0].id;
        let ids = vec![id.to_string(); 100].join(", ");
        assert!(citation(&format!("[{ids}]")).is_none());
        assert!(citation(&format!("[{id}]")).is_some());
    }
}
