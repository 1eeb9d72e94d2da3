//! Which page of a list a command shows, and how it says that there are more.

use clap::{Args, value_parser};
use protocol::hub::{MAX_PAGE_SIZE, Page};

use crate::hub::Paging;

/// Which page of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct PagingArgs {
    /// Which page, counted from 1
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    page: Option<u64>,
    /// How many entries a page has, at most 100
    #[arg(long, value_parser = value_parser!(u64).range(1..=MAX_PAGE_SIZE as u64))]
    page_size: Option<u64>,
}

impl From<PagingArgs> for Paging {
    fn from(args: PagingArgs) -> Self {
        Self { page: args.page, page_size: args.page_size }
    }
}

/// Returns what a person should know of a list that goes on behind this page; `None` when it ends here.
pub(super) fn rest<T>(page: &Page<T>) -> Option<String> {
    let (next, total) = (page.page + 1, page.total);
    let shown = page.page.saturating_mul(page.page_size);
    (shown < total).then(|| format!("{total} in all; --page {next} shows more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_goes_on_says_so() {
        let page = |page, total| Page { results: vec![()], total, page, page_size: 20 };
        assert_eq!(rest(&page(1, 20)), None);
        assert_eq!(rest(&page(1, 21)).unwrap(), "21 in all; --page 2 shows more");
        assert_eq!(rest(&page(2, 40)), None);
        assert_eq!(rest(&page(u64::MAX / 2, 0)), None);
    }
}
