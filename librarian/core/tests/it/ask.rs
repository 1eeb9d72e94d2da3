//! From a question to an answer, whatever the model does.

use std::sync::Arc;
use std::time::Duration;

use librarian_core::{Answer, Librarian, Question, ShelfError};
use llm::scripted::{Scripted, Step};
use protocol::librarian::AnswerMode;
use tokio::time::Instant;

use crate::shelf::{CAMELOT, PDFPLUMBER, Shelved, asked_at, records};

const PATIENCE: Duration = Duration::from_secs(30);

fn question(text: &str, patience: Duration) -> Question {
    Question { text: text.to_owned(), asked_at: asked_at(), deadline: Instant::now() + patience }
}

/// Asks in Chinese, of both records, with a model that plays one step.
async fn ask(step: Step, patience: Duration) -> Answer {
    let shelf = Arc::new(Shelved::Records(records()));
    let librarian = Librarian::new(shelf, Some(Arc::new(Scripted::new([step]))));
    let question = question("怎么提取表格？", patience);
    let answer = librarian.ask(&question).await.expect("the shelf is there");
    assert!(Instant::now() < question.deadline, "the answer is late");
    answer
}

fn ids(answer: &Answer) -> Vec<String> {
    answer.source_ids.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_writes_a_cited_answer() {
    let text =
        format!("<think>hm [experience-9]</think>\n先试 camelot [{CAMELOT}, experience-9]。");
    let answer = ask(Step::text(text), PATIENCE).await;
    assert_eq!(answer.text, format!("先试 camelot [{CAMELOT}]。"));
    assert_eq!((answer.mode, answer.reason.as_deref()), (AnswerMode::Integrated, None));
    assert_eq!(ids(&answer), [CAMELOT]);
    let sources: Vec<_> = answer.sources.iter().map(|source| source.id.to_string()).collect();
    assert_eq!(sources, [PDFPLUMBER, CAMELOT]);
}

#[tokio::test(start_paused = true)]
async fn whatever_the_model_does_there_is_an_answer_in_time() {
    let late = || Step::Late(PATIENCE.mul_f32(0.98), format!("late [{CAMELOT}]"));
    for (step, patience, reason) in [
        (Step::text("no citation"), PATIENCE, "the language model cited none of the records"),
        (
            Step::text("[experience-9] [1]"),
            PATIENCE,
            "the language model cited none of the records",
        ),
        (Step::text(" \n"), PATIENCE, "the language model wrote nothing"),
        (Step::text("<think>forever"), PATIENCE, "the language model wrote nothing"),
        (Step::text("a".repeat(10 << 20)), PATIENCE, "the language model wrote too much"),
        (Step::Fail("not JSON".into()), PATIENCE, "the language model failed"),
        (Step::Hang, PATIENCE, "the language model was too slow"),
        (late(), PATIENCE, "the language model was too slow"),
        (Step::Hang, Duration::from_secs(1), "too little time was left for the language model"),
    ] {
        let answer = ask(step, patience).await;
        assert_eq!(answer.reason.as_deref(), Some(reason));
        assert_eq!(answer.mode, AnswerMode::Extractive);
        assert_eq!(ids(&answer), [PDFPLUMBER, CAMELOT]);
        assert!(answer.text.starts_with("以下是检索到的"), "{}", answer.text);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_found_is_said_in_the_language_of_the_question() {
    for (text, expected) in [
        ("怎么提取表格？", "知识库里没有找到与这个问题相关的记录。"),
        ("How do I extract tables?", "KnowHub holds nothing relevant to this question."),
    ] {
        let model = Arc::new(Scripted::new([]));
        let shelf = Arc::new(Shelved::Records(Vec::new()));
        let librarian = Librarian::new(shelf, Some(model.clone()));
        let answer = librarian.ask(&question(text, PATIENCE)).await.expect("the shelf is there");
        assert_eq!(answer.text, expected);
        assert_eq!((ids(&answer), answer.sources), (vec![], vec![]));
        assert_eq!(model.requests(), [], "there is nothing to ask a model about");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shelf_that_is_away_or_hangs_is_an_error_in_time() {
    for shelf in [Shelved::Away, Shelved::Hangs] {
        let question = question("anything", PATIENCE);
        let outcome = Librarian::new(Arc::new(shelf), None).ask(&question).await;
        assert!(matches!(outcome, Err(ShelfError::Unavailable(_))), "{outcome:?}");
        assert!(Instant::now() < question.deadline);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_is_no_panic() {
    let question = question("anything", Duration::ZERO);
    let outcome = Librarian::new(Arc::new(Shelved::Hangs), None).ask(&question).await;
    assert!(matches!(outcome, Err(ShelfError::Unavailable(_))), "{outcome:?}");
}
