//! Reading the cells of a row, each checked on the way.

use protocol::{ChatId, ContactId, im::NoticeCode};
use rusqlite::types::FromSql;

use super::Error;

/// One row of a result, with what an error about it must name.
pub(super) struct Cells<'a> {
    pub(super) table: &'static str,
    pub(super) number: i64,
    pub(super) row: &'a rusqlite::Row<'a>,
}

impl Cells<'_> {
    pub(super) fn raw<T: FromSql>(&self, column: usize) -> Result<T, Error> {
        self.row.get(column).map_err(Error::Read)
    }

    pub(super) fn contact(&self, column: usize, field: &'static str) -> Result<ContactId, Error> {
        ContactId::try_from(self.raw::<String>(column)?).map_err(|_| self.damaged(field))
    }

    pub(super) fn chat(&self, column: usize) -> Result<Option<ChatId>, Error> {
        let text = self.raw::<Option<String>>(column)?;
        text.map(|text| ChatId::try_from(text).map_err(|_| self.damaged("chat_id"))).transpose()
    }

    pub(super) fn damaged(&self, field: &'static str) -> Error {
        Error::Damaged { table: self.table, row: self.number, field }
    }

    pub(super) fn code(&self, column: usize) -> Result<NoticeCode, Error> {
        match self.raw::<String>(column)?.as_str() {
            "undeliverable" => Ok(NoticeCode::Undeliverable),
            "expired" => Ok(NoticeCode::Expired),
            _ => Err(self.damaged("code")),
        }
    }
}
