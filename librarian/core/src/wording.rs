//! Every sentence the librarian says by itself, in Chinese and in English.

use protocol::Source;
use protocol::librarian::{ItemKind, Receipt, RejectedItem};
use protocol::source::{EXCERPT_CHARS, excerpt};

use crate::citation;
use crate::language::Language;

/// How much of a source's task stands in an extractive answer, in characters; the rest is cut.
const TASK_CHARS: usize = 200;

/// How many refused items a text names; the others stand in the receipt alone.
const NAMED_REJECTIONS: usize = 10;

/// Returns the results themselves, each with its citation, marked as not put together by a model.
pub fn extractive(language: Language, sources: &[Source]) -> String {
    let head = match (language, sources.is_empty()) {
        (Language::Chinese, true) => "知识库里没有找到与这个问题相关的记录。",
        (Language::English, true) => "KnowHub holds nothing relevant to this question.",
        (Language::Chinese, false) => "以下是检索到的最相关记录的原文（未经模型整合）：",
        (Language::English, false) => {
            "The most relevant records as they were found (not put together by a model):"
        }
    };
    format!("{head}\n\n{}", records(sources)).trim_end().to_owned()
}

/// Returns records as a list, each with its citation; what they quote themselves cites nothing.
pub fn records(sources: &[Source]) -> String {
    sources.iter().map(record).collect::<Vec<_>>().join("\n\n")
}

fn record(source: &Source) -> String {
    let task = citation::neutralize(&excerpt(&source.task, TASK_CHARS));
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let content = citation::neutralize(&excerpt(&source.content, EXCERPT_CHARS));
    let lines = content.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let content = lines.collect::<Vec<_>>().join("\n  ");
    format!("- {task} {}\n  {content}", source.id.to_citation())
}

/// Returns what was wrong with a message, and what a right one looks like.
pub fn malformed(language: Language, complaint: &str) -> String {
    match language {
        Language::Chinese => format!(
            "无法理解这条消息：{complaint}\n\n正确的写法：\n[ASK] 怎么从 PDF 里提取表格？\n\
             [UPLOAD] {EXAMPLE_BATCH}\n[UPLOAD:FINALIZE] {{}}"
        ),
        Language::English => format!(
            "This message cannot be understood: {complaint}\n\nRight would be:\n\
             [ASK] How do I extract tables from a PDF?\n\
             [UPLOAD] {EXAMPLE_BATCH}\n[UPLOAD:FINALIZE] {{}}"
        ),
    }
}

const EXAMPLE_BATCH: &str = r#"{"knowledge": [{"task": "extract tables from a PDF", "content": "pdfplumber finds ruled tables"}], "resources": [], "tools": []}"#;

/// Returns that too many questions are being answered.
pub fn busy(language: Language) -> &'static str {
    match language {
        Language::Chinese => "正在回答的问题太多，请稍后再问。",
        Language::English => "Too many questions are being answered right now; please ask again.",
    }
}

/// Returns that the hub does not answer.
pub fn hub_unavailable(language: Language) -> &'static str {
    match language {
        Language::Chinese => "知识库服务（hub）暂时没有响应，无法检索。",
        Language::English => "The hub does not answer right now, so nothing can be looked up.",
    }
}

/// Returns a receipt for people to read; programs read the receipt itself.
pub fn receipt(language: Language, receipt: &Receipt) -> String {
    let stored = receipt.accepted.len();
    let duplicates = receipt.duplicates.len();
    let refused = receipt.rejected.len();
    let missing = receipt.missing.len();
    let head = match language {
        Language::Chinese => format!(
            "上传结果：入库 {stored} 条，重复 {duplicates} 条，拒绝 {refused} 条，\
             未见到的消息 {missing} 条。"
        ),
        Language::English => format!(
            "Upload: stored {stored}, duplicates {duplicates}, refused {refused}, \
             messages not seen {missing}."
        ),
    };
    head + &rejected_items(&receipt.rejected)
}

/// Returns which items of an upload were refused, for a sender that awaits no receipt.
pub fn rejections(language: Language, rejected: &[RejectedItem]) -> String {
    let head = match language {
        Language::Chinese => format!("上传的内容中有 {} 条被拒绝：", rejected.len()),
        Language::English => format!("Items of the upload that were refused: {}", rejected.len()),
    };
    head + &rejected_items(rejected)
}

/// Returns a line for each refused item, as far as they are named.
pub fn rejected_items(rejected: &[RejectedItem]) -> String {
    let named: String = rejected.iter().take(NAMED_REJECTIONS).map(item).collect();
    let more = if rejected.len() > NAMED_REJECTIONS { "\n- …" } else { "" };
    named + more
}

fn item(rejected: &RejectedItem) -> String {
    let RejectedItem { kind, index, field, reason } = rejected;
    let list = match kind {
        ItemKind::Knowledge => "knowledge",
        ItemKind::Resource => "resources",
        ItemKind::Tool => "tools",
    };
    let dot = if field.is_empty() { "" } else { "." };
    format!("\n- {list}[{index}]{dot}{field}: {reason}")
}
