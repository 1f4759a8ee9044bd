//! Signatures of the Standard Webhooks specification: HMAC-SHA256 over the message's id, its time and its body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Size of a secret; the specification permits 24 to 64.
pub(crate) const SECRET_BYTES: usize = 32;

/// A secret as its receiver needs it.
pub(crate) fn secret_text(secret: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

/// The header `webhook-signature`.
pub(super) fn sign(
    secret: &[u8],
    message_id: &str,
    seconds: i64,
    body: &str,
) -> Result<String, String> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret).map_err(|error| format!("signature: {error}"))?;
    mac.update(format!("{message_id}.{seconds}.{body}").as_bytes());
    let code = mac.finalize().into_bytes();
    Ok(format!("v1,{}", STANDARD.encode(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries.
    #[test]
    fn signature_is_that_of_the_specification() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = sign(&secret, id, 1_614_265_330, "{\"test\": 2432232314}").unwrap();
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(
            secret_text(&secret),
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        );
    }
}
