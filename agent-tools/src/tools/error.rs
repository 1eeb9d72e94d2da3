//! Why a tool gave no result.

use protocol::{hub::FieldFault, im};

use crate::hub;

/// Why a tool gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is not what the tool takes; nothing was sent.
    #[error("invalid input: {}", listed(.0))]
    Invalid(Vec<FieldFault>),
    /// The hub did not do it.
    #[error(transparent)]
    Hub(#[from] hub::Error),
    /// The relay refused a message for good.
    #[error("the relay refused the message: {}", .0.message)]
    Refused(im::Error),
    /// The librarian did not take an upload.
    #[error("the librarian refused the upload: {0}")]
    Librarian(String),
    /// Neither the librarian nor the hub answered.
    #[error(
        "no answer: {librarian}, and direct search failed too; start the relay, the librarian and \
         the hub, or set IM_URL and KNOWHUB_API to where they are"
    )]
    NoAnswer {
        /// Why the librarian did not answer.
        librarian: String,
        /// Why direct search failed.
        #[source]
        hub: hub::Error,
    },
    /// Neither the relay nor the hub took an upload; nothing is stored.
    #[error(
        "nothing was uploaded: {relay}, and the hub did not take it either; start the relay or \
         the hub, or set IM_URL and KNOWHUB_API to where they are"
    )]
    NotUploaded {
        /// Why the relay did not take it.
        relay: String,
        /// Why the hub did not take it.
        #[source]
        hub: hub::Error,
    },
}

impl Error {
    /// Returns what the hub said, where the hub is what failed last.
    pub fn hub(&self) -> Option<&hub::Error> {
        match self {
            Self::Hub(hub) | Self::NoAnswer { hub, .. } | Self::NotUploaded { hub, .. } => {
                Some(hub)
            }
            Self::Invalid(_) | Self::Refused(_) | Self::Librarian(_) => None,
        }
    }

    /// Tells whether the caller can mend it: the input is at fault, not a service.
    pub fn is_callers(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Refused(_) | Self::Librarian(_) => true,
            Self::Hub(err @ hub::Error::Refused { status, .. }) => {
                (400..500).contains(status) && !err.is_transient() && !err.is_about_access()
            }
            Self::Hub(_) | Self::NoAnswer { .. } | Self::NotUploaded { .. } => false,
        }
    }
}

impl From<FieldFault> for Error {
    fn from(fault: FieldFault) -> Self {
        Self::Invalid(vec![fault])
    }
}

/// How many faults an error names; the rest is counted, so that a bad file does not flood its reader.
const NAMED_FAULTS: usize = 10;

fn listed(faults: &[FieldFault]) -> String {
    let named = faults.iter().take(NAMED_FAULTS).map(ToString::to_string);
    let mut text = named.collect::<Vec<_>>().join("; ");
    if faults.len() > NAMED_FAULTS {
        text = format!("{text}; and {} more", faults.len() - NAMED_FAULTS);
    }
    text
}
