//! Direct search in the librarian's place: why, and what it says.

use std::{fmt, time::Duration};

use librarian_core::{Language, wording};
use protocol::{
    ContactId, Source,
    im::{self, NoticeCode, Recipient},
    librarian::{AnswerMode, ReplyCode, ReplyError},
};

use super::Answer;
use crate::im::RequestError;

/// Why the librarian gave no answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// There is no connection to the relay.
    Unreachable(String),
    /// The librarian is not there.
    Absent(ContactId, Recipient),
    /// The librarian did not answer in time.
    Deadline(Duration),
    /// The relay did not take the question.
    NotTaken(im::Error),
    /// The relay gave the question up.
    GivenUp(NoticeCode),
    /// The librarian answered that it cannot.
    Refusal(ReplyError),
    /// The reply says nothing.
    Blank,
}

impl Silence {
    pub(super) fn of(cause: RequestError, librarian: &ContactId, patience: Duration) -> Self {
        match cause {
            RequestError::Unreachable(why) => Self::Unreachable(why),
            RequestError::Offline { recipient } => Self::Absent(librarian.clone(), recipient),
            RequestError::Deadline => Self::Deadline(patience),
            RequestError::Refused(error) => Self::NotTaken(error),
            RequestError::Undeliverable(code) => Self::GivenUp(code),
        }
    }

    fn in_chinese(&self) -> String {
        match self {
            Self::Unreachable(_) => "连接不上消息中继".to_owned(),
            Self::Absent(_, Recipient::Unknown) => "馆员从未上线".to_owned(),
            Self::Absent(..) => "馆员不在线".to_owned(),
            Self::Deadline(patience) => format!("馆员在 {} 秒内没有回答", patience.as_secs_f64()),
            Self::NotTaken(_) => "中继没有接收这个问题".to_owned(),
            Self::GivenUp(_) => "问题没有送达馆员".to_owned(),
            Self::Refusal(error) => match error.code {
                ReplyCode::Busy => "馆员正忙".to_owned(),
                ReplyCode::HubUnavailable => "馆员联系不上知识库".to_owned(),
                ReplyCode::Malformed | ReplyCode::Unknown => "馆员没有受理这个问题".to_owned(),
            },
            Self::Blank => "馆员的回答是空的".to_owned(),
        }
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the relay cannot be reached: {why}"),
            Self::Absent(librarian, Recipient::Unknown) => {
                write!(f, "the librarian ({librarian}) has never been online")
            }
            Self::Absent(librarian, _) => write!(f, "the librarian ({librarian}) is offline"),
            Self::Deadline(patience) => {
                write!(f, "the librarian did not answer within {} s", patience.as_secs_f64())
            }
            Self::NotTaken(error) => {
                write!(f, "the relay did not take the question: {}", error.message)
            }
            Self::GivenUp(NoticeCode::Expired) => {
                write!(f, "the question expired before the librarian took it")
            }
            Self::GivenUp(_) => write!(f, "the question could not be delivered to the librarian"),
            Self::Refusal(error) => write!(f, "the librarian could not answer: {}", error.message),
            Self::Blank => write!(f, "the librarian's reply was blank"),
        }
    }
}

/// Returns what was found as an answer, which says that it is direct search and why.
pub(super) fn answer(question: &str, sources: &[Source], silence: &Silence) -> Answer {
    Answer {
        response: text(Language::of(question), sources, silence),
        source_ids: sources.iter().map(|source| source.id.clone()).collect(),
        sources: sources.iter().map(Source::excerpt).collect(),
        mode: AnswerMode::Search,
        reason: Some(silence.to_string()),
    }
}

fn text(language: Language, sources: &[Source], silence: &Silence) -> String {
    let list = wording::records(sources);
    let count = sources.len();
    match (language, count) {
        (Language::Chinese, 0) => {
            format!("直接检索没有找到相关的记录（{}）。", silence.in_chinese())
        }
        (Language::English, 0) => format!("Direct search found nothing relevant ({silence})."),
        (Language::Chinese, _) => format!(
            "以下是直接检索的结果，未经馆员整理（{}），共 {count} 条：\n\n{list}",
            silence.in_chinese()
        ),
        (Language::English, _) => {
            let records = if count == 1 { "record" } else { "records" };
            format!(
                "Direct search, not put together by the librarian ({silence}); \
                 {count} {records}:\n\n{list}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn sources() -> Vec<Source> {
        let source = |id: &str, task: &str, content: &str| Source {
            id: id.parse().unwrap(),
            task: task.to_owned(),
            content: content.to_owned(),
            author: String::new(),
            created_at: protocol::Timestamp::from_millis(0),
            helpful: 0,
            harmful: 0,
            flags: Vec::new(),
        };
        vec![
            source(
                "knowledge-20260305-a1b2",
                "从论文 PDF 里提取表格",
                "pdfplumber 适合有线表格。\n见 [experience-9]。",
            ),
            source("experience-7", "extract tables", "pymupdf (4/5)\nuse page.find_tables()"),
        ]
    }

    #[test]
    fn says_in_chinese_what_was_found_and_why_so() {
        let silence = Silence::Deadline(Duration::from_millis(2500));
        let answer = answer("怎么提取表格？", &sources(), &silence);
        expect![[r#"
            以下是直接检索的结果，未经馆员整理（馆员在 2.5 秒内没有回答），共 2 条：

            - 从论文 PDF 里提取表格 [knowledge-20260305-a1b2]
              pdfplumber 适合有线表格。
              见 (experience-9)。

            - extract tables [experience-7]
              pymupdf (4/5)
              use page.find_tables()"#]]
        .assert_eq(&answer.response);
        let reason = "the librarian did not answer within 2.5 s";
        assert_eq!(answer.reason.as_deref(), Some(reason));
    }

    #[test]
    fn says_in_english_what_was_found_and_why_so() {
        let librarian = "knowledge_manager".parse().unwrap();
        let silence = Silence::Absent(librarian, Recipient::Offline);
        let answer = answer("How do I extract tables?", &sources()[1..], &silence);
        expect![[r#"
            Direct search, not put together by the librarian (the librarian (knowledge_manager) is offline); 1 record:

            - extract tables [experience-7]
              pymupdf (4/5)
              use page.find_tables()"#]]
        .assert_eq(&answer.response);
        assert_eq!(answer.source_ids.len(), 1);
    }

    #[test]
    fn says_that_nothing_was_found() {
        let silence = Silence::Unreachable("connection refused".to_owned());
        expect!["Direct search found nothing relevant (the relay cannot be reached: connection refused)."]
            .assert_eq(&answer("what?", &[], &silence).response);
        expect!["直接检索没有找到相关的记录（连接不上消息中继）。"]
            .assert_eq(&answer("什么？", &[], &silence).response);
    }
}
