//! Each format as it is written, and each way to get it wrong.

use super::*;

fn file(text: &str) -> File {
    File::new("set", text)
}

fn read(
    questions: &str,
    passages: Option<&str>,
    qrels: Option<&str>,
) -> Result<QuestionSet, Fault> {
    QuestionSet::read(&Files {
        questions: File::new("questions", questions),
        passages: passages.map(|text| File::new("passages", text)),
        qrels: qrels.map(|text| File::new("qrels", text)),
        format: None,
    })
}

/// The passages' texts, and each question with the places and grades of its answers.
type Told<'a> = (Vec<String>, Vec<(&'a str, Vec<(usize, u32)>)>);

fn told(set: &QuestionSet) -> Told<'_> {
    let text = |passage: &Passage| format!("{}|{}", passage.task, passage.content);
    let question = |question: &Question| {
        question.answers.iter().map(|answer| (answer.passage, answer.grade)).collect()
    };
    let questions = set.questions.iter().map(|one| (one.text.as_str(), question(one)));
    (set.passages.iter().map(text).collect(), questions.collect())
}

fn left_out(set: &QuestionSet) -> Vec<String> {
    set.left_out.iter().map(LeftOut::told).collect()
}

const SQUAD: &str = r#"{"version": "1", "data": [
    {"title": "Tools", "paragraphs": [
        {"context": "表格用 pdfplumber。先试。", "qas": [
            {"id": "a", "question": "怎么提取表格？", "answers": []},
            {"id": 7, "question": " and this? "}]},
        {"context": "Locks. Read the graph.", "qas": [{"id": "b", "question": "What of locks?"}]}]},
    {"paragraphs": [{"context": "Nobody asks. Never."}]}]}"#;

#[test]
fn squad_in_one_file() {
    let set = read(SQUAD, None, None).unwrap();
    let passages =
        ["Tools|表格用 pdfplumber。先试。", "Tools|Locks. Read the graph.", "Nobody asks.|Never."]
            .map(str::to_owned);
    let questions = vec![
        ("怎么提取表格？", vec![(0, 1)]),
        ("and this?", vec![(0, 1)]),
        ("What of locks?", vec![(1, 1)]),
    ];
    assert_eq!(told(&set), (passages.to_vec(), questions));
    assert_eq!(left_out(&set), Vec::<String>::new());
    let bom = format!("\u{feff}{SQUAD}");
    assert_eq!(read(&bom, None, None).unwrap(), set);
}

#[test]
fn squad_across_files() {
    let english = r#"{"data": [{"paragraphs": [
        {"context": "Use pdfplumber. First.", "qas": [{"id": "a", "question": "?"}, {"id": "7", "question": "?"}]},
        {"context": "Use pdfplumber. First.", "qas": [{"id": "z", "question": "?"}]},
        {"context": " ", "qas": [{"id": "b", "question": "?"}]}]}]}"#;
    let set = read(SQUAD, Some(english), None).unwrap();
    let questions = vec![("怎么提取表格？", vec![(0, 1)]), ("and this?", vec![(0, 1)])];
    assert_eq!(told(&set), (vec!["Use pdfplumber.|First.".to_owned()], questions));
    let expected = [
        "1 judgments on a passage that says nothing, such as b",
        "1 passages that say nothing, such as passage 3",
        "1 passages with the text of an earlier one, which counts for them, such as passage 2",
        "1 questions that no passage answers, such as b",
    ];
    assert_eq!(left_out(&set), expected);
}

#[test]
fn what_squad_marks_as_impossible_is_no_question() {
    let text = r#"{"data": [{"paragraphs": [{"context": "One. Two.", "qas": [
        {"id": "a", "question": "One?"}, {"id": "b", "question": "Ten?", "is_impossible": true},
        {"id": "c", "question": " "}]}]}]}"#;
    let set = read(text, None, None).unwrap();
    assert_eq!(set.questions.len(), 1);
    let expected =
        ["1 questions marked as impossible, such as b", "1 questions that say nothing, such as c"];
    assert_eq!(left_out(&set), expected);
}

const DOCS: &str = "<doc>\n<docno>1</docno>\n<title>wings .</title>\n<author>x</author>\n<text>wings .\non wings\n\
     and \"a\" &lt; b</text>\n</doc><DOC><DOCNO> d2 </DOCNO><TEXT>flow. Over plates.</TEXT></DOC>\n\
     <doc><docno>3</docno><title></title><text></text></doc>";

const TOPICS: &str = "<?xml version='1.0'?>\n<xml>\n<top>\n<num> 10</num> \n<title>\nwhat wings\nare .\n</title>\n</top>\n\
     <top>\n<num> Number: 20\n<title> Flow\n<desc> Description:\nmore\n</top>\n</xml>";

#[test]
fn trec_by_number_and_by_place() {
    let passages =
        ["wings .|wings .\non wings\nand \"a\" < b", "flow.|Over plates."].map(str::to_owned);
    for qrels in
        ["10 0 1 3\n10 0 d2 0\n20 0 d2 1\n", "1 0 1 3\n2\t0\td2\t1\n\n2 0 3 1\n2 0 9 1\n1 0 9 -1"]
    {
        let set = read(TOPICS, Some(DOCS), Some(qrels)).unwrap();
        let questions = vec![("what wings\nare .", vec![(0, 3)]), ("Flow", vec![(1, 1)])];
        assert_eq!(told(&set), (passages.to_vec(), questions), "{qrels}");
    }
    let set = read(TOPICS, Some(DOCS), Some("1 0 1 1\n2 0 3 1\n2 0 9 1")).unwrap();
    let expected = [
        "1 judgments on a passage that is not there, such as 9",
        "1 judgments on a passage that says nothing, such as 3",
        "1 passages that say nothing, such as 3",
        "1 questions that no passage answers, such as topic 20",
    ];
    assert_eq!(left_out(&set), expected);
}

#[test]
fn jsonl_of_texts_and_of_records() {
    let passages = "{\"id\": \"a\", \"text\": \"One. Two.\"}\n\n\
         {\"id\": \"b\", \"title\": \"Locks\", \"text\": \"Read.\"}\n\
         {\"id\": \"c\", \"task\": \"提取表格\", \"content\": \"用 find_tables\"}";
    let questions = "{\"query\": \"two?\", \"ids\": [\"a\", \"c\"]}\n{\"query\": \"b?\", \"ids\": [\"b\", \"x\"]}\n\
         {\"query\": \"x?\", \"ids\": [\"x\"]}";
    let set = read(questions, Some(passages), None).unwrap();
    let texts = ["One.|Two.", "Locks|Read.", "提取表格|用 find_tables"].map(str::to_owned);
    let expected = vec![("two?", vec![(0, 1), (2, 1)]), ("b?", vec![(1, 1)])];
    assert_eq!(told(&set), (texts.to_vec(), expected));
    let expected = [
        "2 judgments on a passage that is not there, such as x",
        "1 questions that no passage answers, such as line 3",
    ];
    assert_eq!(left_out(&set), expected);
}

#[test]
fn questions_alone() {
    for (text, expected) in [
        (SQUAD, vec!["怎么提取表格？", " and this? ", "What of locks?"]),
        (TOPICS, vec!["what wings\nare .", "Flow"]),
        ("{\"query\": \"a\"}\n{\"query\": \" \"}\n{\"query\": \"b\", \"ids\": []}", vec!["a", "b"]),
    ] {
        assert_eq!(QuestionSet::questions_of(&file(text), None).unwrap(), expected);
    }
    let fault = QuestionSet::questions_of(&file("{\"query\": \"\"}"), None).unwrap_err();
    assert_eq!(fault.to_string(), "set: holds no question");
}

#[test]
fn a_fault_names_its_place_and_what_would_be_right() {
    let jsonl = r#"{"query": "a", "ids": ["a"]}"#;
    for (questions, passages, qrels, wanted) in [
        ("", None, None, "questions: begins like no question set: expected a JSON object"),
        ("a,b", None, None, "questions: begins like no question set"),
        (
            "{\"data\": [{\"paragraphs\":\n[{\"qas\": []}]}]}",
            None,
            None,
            "questions:2: data[0].paragraphs[0]: missing field `context`",
        ),
        ("{\"data\": []} x", None, None, "questions:1: trailing characters"),
        ("{\n\"data\": 7}", None, None, "questions:2: data: invalid type: integer `7`"),
        ("{\"data\": []}", None, None, "questions: holds no passage"),
        (
            "{\"data\": [{\"paragraphs\": [{\"context\": \"a b\"}]}]}",
            None,
            None,
            "questions: holds no question that a passage answers",
        ),
        (
            r#"{"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": "x", "question": "?"}]},
                {"context": "c d", "qas": [{"id": "x", "question": "?"}]}]}]}"#,
            None,
            None,
            "questions: two passages have a question with the id x",
        ),
        (SQUAD, Some(DOCS), None, "passages: is TREC, and the questions are SQuAD"),
        (TOPICS, None, None, "questions: holds topics: name the documents with --passages"),
        (
            TOPICS,
            Some(DOCS),
            None,
            "questions: holds topics: name the documents with --passages and the judgments with --qrels",
        ),
        (
            TOPICS,
            Some(DOCS),
            Some("1 0 1 1\n1 1 1"),
            "qrels:2: expected a judgment as `question 0 passage grade`",
        ),
        (TOPICS, Some(DOCS), Some("1 0 1 x"), "qrels:1: expected a judgment"),
        (TOPICS, Some(DOCS), Some("3 0 1 1"), "qrels: judges the question 3, which is neither"),
        (
            TOPICS,
            Some("<doc><title>a</title></doc>"),
            Some(""),
            "passages:1: a <doc> without <docno>",
        ),
        (
            TOPICS,
            Some("<doc>\n<docno>1</docno></doc>\n<doc>"),
            Some(""),
            "passages:3: <doc> without </doc>",
        ),
        (TOPICS, Some("<x>"), Some(""), "passages: holds no <doc>"),
        (
            TOPICS,
            Some(
                "<doc><docno>1</docno><text>a b</text></doc>\n<doc><docno>1</docno><text>c d</text></doc>",
            ),
            Some(""),
            "passages:2: the docno 1 stands here a second time",
        ),
        (
            "<top>\n<title>a</title>\n</top>",
            Some(DOCS),
            Some(""),
            "questions:1: a <top> without <num>",
        ),
        ("\n<top><num>1</num></top>", Some(DOCS), Some(""), "questions:2: a <top> without <title>"),
        (
            jsonl,
            None,
            None,
            "questions: holds questions alone: name the file of their passages with --passages",
        ),
        (
            jsonl,
            Some("{\"id\": \"a\", \"text\": \"a\"}\n{\"id\": \"b\"}"),
            None,
            "passages:2: data did not match",
        ),
        (jsonl, Some("{\"id\": \"a\", \"text\": \"a\"}\n{"), None, "passages:2: EOF"),
        (
            jsonl,
            Some("{\"id\": \"a\", \"text\": \"a\"}\n{\"id\": \"a\", \"text\": \"b\"}"),
            None,
            "passages:2: the id a stands here a second time",
        ),
        (
            "{\"query\": \"a\"}",
            Some("{\"id\": \"a\", \"text\": \"a\"}"),
            None,
            "questions:1: missing field `ids`",
        ),
    ] {
        let fault = read(questions, passages, qrels).unwrap_err().to_string();
        assert!(fault.starts_with(wanted), "{questions:?} {passages:?}: {fault}\nwanted: {wanted}");
    }
}

#[test]
fn a_named_format_goes_before_the_looks() {
    let files = |format| Files {
        questions: File::new("questions", "{\"data\": [{\"paragraphs\": []}]}"),
        passages: None,
        qrels: None,
        format,
    };
    let told = |format| QuestionSet::read(&files(format)).unwrap_err().to_string();
    assert!(told(None).contains("holds no passage"));
    assert!(told(Some(Format::Jsonl)).contains("--passages"));
    assert!(told(Some(Format::Trec)).contains("--qrels"));
}

#[test]
fn pairs_have_heads_and_labels() {
    let text = "id\tsentence1\tsentence2\tlabel\n1\t甲\t乙\t1\n\n2\ta \"b\" c\td\t0\r\n3\t\tx\t0\n4\ty\ty\t0\n";
    let read = |text: &str| Pairs::read(&file(text));
    let pairs = read(text).unwrap();
    let pair = |first: &str, second: &str, is_same| Pair {
        first: first.to_owned(),
        second: second.to_owned(),
        is_same,
    };
    assert_eq!(pairs.pairs, [pair("甲", "乙", true), pair("a \"b\" c", "d", false)]);
    let left_out: Vec<_> = pairs.left_out.iter().map(LeftOut::told).collect();
    let expected = [
        "1 pairs labeled as different whose texts are the same, such as line 6",
        "1 pairs of which one text says nothing, such as line 5",
    ];
    assert_eq!(left_out, expected);
    for (text, wanted) in [
        ("", "set:1: expected the columns sentence1, sentence2 and label"),
        ("a\tb\t1\n", "set:1: expected the columns"),
        ("sentence1\tsentence2\tlabel\na\tb\t1\na\tb\n", "set:3: has 2 columns: expected 3"),
        ("sentence1\tsentence2\tlabel\na\tb\tyes\n", "set:2: expected the label 0 or 1"),
        ("sentence1\tsentence2\tlabel\n", "set: holds no pair"),
    ] {
        let fault = read(text).unwrap_err().to_string();
        assert!(fault.starts_with(wanted), "{text:?}: {fault}");
    }
}

#[test]
fn a_sample_is_the_first_or_drawn_by_its_seed() {
    let all: Vec<u32> = (0..100).collect();
    assert_eq!(sample(all.clone(), Some(3), None), [0, 1, 2]);
    assert_eq!(sample(all.clone(), None, None), all);
    let drawn = |seed| sample(all.clone(), Some(10), Some(seed));
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(drawn(1).len(), 10);
}
