//! How a deletion is asked for, whatever is deleted.

use axum::{extract::FromRequestParts, http::request::Parts};
use protocol::hub::{FieldFault, PlainTexts, check_bound};

use super::{
    Error,
    extract::{QueryParams, refuse_secret},
    params::{FromParams, Params},
};
use crate::secrets;

/// The parameter that says why.
const REASON: &str = "reason";

/// Why something is deleted, kept with its tombstone; holds no likely secret, as no other plain text does.
pub(super) struct Reason(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Reason {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let QueryParams(reason) = QueryParams::<Self>::from_request_parts(parts, state).await?;
        let found = secrets::find_in(&PlainTexts::default().text(REASON, &reason.0));
        refuse_secret(found, &parts.headers)?;
        Ok(reason)
    }
}

impl FromParams for Reason {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let reason = params.text(REASON)?.unwrap_or_default();
        check_bound(REASON, reason)?;
        Ok(Self(reason.to_owned()))
    }
}

/// Whether earlier versions go as well, for good.
pub(super) struct Erase(pub(super) bool);

impl FromParams for Erase {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        Ok(Self(params.flag("erase")?))
    }
}
