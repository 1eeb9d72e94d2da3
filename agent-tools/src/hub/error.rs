//! Why a call to the hub failed.

use protocol::hub::ErrorDetail;

/// Why a call to the hub failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No HTTP client can be made on this machine.
    #[error("cannot prepare an HTTP client for the hub")]
    Setup(#[source] reqwest::Error),
    /// The token cannot be sent in a header.
    #[error("KNOWHUB_TOKEN must consist of visible ASCII characters")]
    Token,
    /// Nobody answered, or the answer broke off.
    #[error("hub not reachable at {api} – is knowhub-server running? set KNOWHUB_API")]
    Unreachable {
        /// Where the hub should be.
        api: String,
        /// What went wrong on the way.
        #[source]
        source: reqwest::Error,
    },
    /// The org's key cannot be sent in a header.
    #[error("KNOWHUB_ORG_KEY must consist of visible ASCII characters")]
    OrgKey,
    /// The hub is there, and cannot do all its work yet.
    #[error("the hub at {api} is not ready: {reason}")]
    Unready {
        /// Where the hub is.
        api: String,
        /// The hub's own words.
        reason: String,
    },
    /// The hub stood still for too long, within an answer that it had begun or an import that it was sent.
    #[error("the hub at {api} sent nothing more for too long; try again")]
    Stalled {
        /// Where the hub is.
        api: String,
    },
    /// The hub said no.
    #[error("the hub refused ({status}): {}", .detail.message)]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The hub's own words.
        detail: ErrorDetail,
    },
    /// Something answered that is no hub, or another version of it.
    #[error("unreadable answer ({status}) from {api}: {reason}; is KNOWHUB_API the hub's address?")]
    BadReply {
        /// Where it came from.
        api: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Tells whether the hub does not let the caller do this: the token, its role, or the address it was
    /// reached at.
    pub fn is_about_access(&self) -> bool {
        matches!(self, Self::Refused { status: 401 | 403, .. }) && !self.is_about_org_key()
    }

    /// Tells whether the request itself is at fault: whoever sends it at whatever time, it is refused again.
    pub fn is_about_request(&self) -> bool {
        matches!(self, Self::Refused { status: 400 | 409 | 413 | 422, .. })
            || self.is_about_org_key()
    }

    /// Tells whether a secret guards what the request would show or change.
    pub fn is_about_org_key(&self) -> bool {
        matches!(self, Self::Refused { status: 403, detail } if detail.field.as_deref() == Some("X-Org-Key"))
    }

    /// Tells whether the same call may work later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Setup(_) | Self::Token | Self::OrgKey => false,
            Self::Unreachable { .. } | Self::Unready { .. } | Self::Stalled { .. } => true,
            Self::Refused { status, .. } | Self::BadReply { status, .. } => {
                *status >= 500 || matches!(status, 408 | 429)
            }
        }
    }
}
