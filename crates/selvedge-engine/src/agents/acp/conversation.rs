//! The conversation with an agent through the official library: initialization, a session in the
//! workspace, one prompt, and answers to the agent's requests.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthenticateRequest, CancelNotification, ClientCapabilities, ContentBlock,
    FileSystemCapabilities, Implementation, InitializeRequest, NewSessionRequest,
    NewSessionResponse, PromptRequest, ReadTextFileRequest, RequestPermissionRequest,
    SessionConfigOption, SessionId, SessionModeState, SessionNotification, SessionUpdate,
    SetSessionModeRequest, TextContent, WriteTextFileRequest,
};
use agent_client_protocol::{Agent, Client, Error, Lines, UntypedMessage};
use futures_util::{Sink, Stream};
use selvedge_core::model::{MicroUsd, SessionOutcome, SessionStatus};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::known_program::{self, KnownProgram};
use super::model::{self, OptionRequest, UnsupportedOptionError};
use super::policy::{AccessPolicy, FileRequestError};
use crate::agents::chat::workspace_fs::FileError;
use crate::agents::final_message::reason_from_text;
use crate::agents::spend_limit::SpendLimit;
use crate::agents::{SessionRequest, env};

/// Time that an agent gets to react to a cancellation before it is stopped.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// How the conversation with an agent ended; the agent's own messages determine how the session
/// ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConversationEnd {
    /// The prompt was answered.
    Finished,
    /// The user cancelled.
    Cancelled,
    /// The reported cost reached the cap.
    OverBudget,
    /// A protocol error, or the connection ended.
    Failed(String),
}

/// The data needed for the conversation.
pub(super) struct AcpConversation<'a> {
    request: &'a SessionRequest,
    cancel: &'a CancellationToken,
    policy: Arc<AccessPolicy>,
    cost_left: Option<MicroUsd>,
    over_budget: CancellationToken,
    program: KnownProgram,
}

impl<'a> AcpConversation<'a> {
    pub(super) fn new(
        request: &'a SessionRequest,
        cap: SpendLimit,
        cancel: &'a CancellationToken,
    ) -> Result<Self, Box<SessionOutcome>> {
        let policy = AccessPolicy::new(&request.workspace, request.role).map_err(|error| {
            let error = format!("cannot open {}: {error}", request.workspace.display());
            Box::new(SessionOutcome::failed(SessionStatus::Infra, error))
        })?;
        Ok(Self {
            request,
            cancel,
            policy: Arc::new(policy),
            cost_left: cap.remaining_cost(),
            over_budget: CancellationToken::new(),
            program: KnownProgram::recognize(&request.agent.program),
        })
    }

    /// Runs the whole conversation; our side of the connection is closed afterwards.
    pub(super) async fn run(
        &self,
        sending: impl Sink<String, Error = io::Error> + Send + 'static,
        receiving: impl Stream<Item = io::Result<String>> + Send + 'static,
    ) -> ConversationEnd {
        let [permissions, read, written] = [(); 3].map(|()| Arc::clone(&self.policy));
        let (cap, over_budget) = (self.cost_left, self.over_budget.clone());
        let held = Client
            .v1()
            .name("selvedge")
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    if reaches_cost_limit(cap, &notification.update) {
                        over_budget.cancel();
                    }
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    responder.respond(permissions.answer_permission_request(&request))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReadTextFileRequest, responder, _| match read.read(&request) {
                    Ok(response) => responder.respond(response),
                    Err(error) => responder.respond_with_error(file_error(&error)),
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WriteTextFileRequest, responder, _| match written
                    .write(&request)
                {
                    Ok(response) => responder.respond(response),
                    Err(error) => responder.respond_with_error(file_error(&error)),
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(Lines::new(sending, receiving), async |agent| {
                self.exchange_messages(&agent).await
            });
        match held.await {
            Ok(talk) => talk,
            Err(error) => ConversationEnd::Failed(reason_from_text(&error.to_string())),
        }
    }

    async fn exchange_messages(
        &self,
        agent: &ConnectionTo<Agent>,
    ) -> Result<ConversationEnd, Error> {
        let Some(session) = self.run_unless_cancelled(self.open_session(agent)).await else {
            return Ok(ConversationEnd::Cancelled);
        };
        let session = session?;
        let text = TextContent::new(self.request.prompt.full_text());
        let prompt = PromptRequest::new(session.clone(), vec![ContentBlock::Text(text)]);
        let mut answer = std::pin::pin!(agent.send_request(prompt).block_task());
        let broken_off = tokio::select! {
            biased;
            answer = &mut answer => return answer.map(|_| ConversationEnd::Finished),
            () = self.over_budget.cancelled() => ConversationEnd::OverBudget,
            () = self.cancel.cancelled() => ConversationEnd::Cancelled,
        };
        agent.send_notification(CancelNotification::new(session))?;
        // Whether or not it reacts, it is stopped next.
        let _ = tokio::time::timeout(CANCEL_GRACE, answer).await;
        Ok(broken_off)
    }

    /// Opens a session in the workspace, with the requested model.
    async fn open_session(&self, agent: &ConnectionTo<Agent>) -> Result<SessionId, Error> {
        let files = FileSystemCapabilities::new()
            .read_text_file(true)
            .write_text_file(true);
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files))
            .client_info(Implementation::new("selvedge", env!("CARGO_PKG_VERSION")));
        let met = agent.send_request(hello).block_task().await?;
        if let Some(info) = &met.agent_info {
            self.policy.apply_agent_quirks(&info.name);
        }
        let opened = self.request_session(agent, &met.auth_methods).await?;
        // As text, because the fields are read leniently.
        let models = opened.get("models").map(Value::to_string);
        let models = models.and_then(|models| serde_json::from_str(&models).ok());
        let opened: NewSessionResponse =
            serde_json::from_value(opened).map_err(|error| Error::new(0, error.to_string()))?;
        let session = opened.session_id;
        let mut options = opened.config_options.unwrap_or_default();
        self.select_mode(agent, &session, opened.modes, &options)
            .await?;
        let unsupported = |error: UnsupportedOptionError| Error::new(0, error.to_string());
        let spec = &self.request.agent;
        if let Some(wanted) = &spec.model {
            let choice = match model::select_model(&session, &options, models.as_ref(), wanted) {
                Err(UnsupportedOptionError::NoChoice { .. })
                    if self.program.takes_model_argument() =>
                {
                    Ok(OptionRequest::None)
                }
                choice => choice,
            };
            request_option(agent, &session, choice.map_err(unsupported)?, &mut options).await?;
        }
        if let Some(wanted) = &spec.effort {
            let choice = model::select_effort(&session, &options, wanted);
            request_option(agent, &session, choice.map_err(unsupported)?, &mut options).await?;
        }
        Ok(session)
    }

    /// Requests a session; if the agent requires a login and can log in by a key, it does so first. The
    /// answer is not parsed yet: it may contain more than the protocol defines.
    async fn request_session(
        &self,
        agent: &ConnectionTo<Agent>,
        logins: &[AuthMethod],
    ) -> Result<Value, Error> {
        let request = || {
            let open = NewSessionRequest::new(self.request.workspace.clone());
            UntypedMessage::new("session/new", open)
        };
        let error = match agent.send_request(request()?).block_task().await {
            Err(error) if error.code == Error::auth_required().code => error,
            opened => return opened,
        };
        let methods = logins.iter().filter_map(|method| match method {
            AuthMethod::Agent(method) => Some(&*method.id.0),
            _ => None,
        });
        let environment = env::agent_env(&self.request.agent, &env::host_env());
        let Some(method) = known_program::find_key_login(methods, &environment) else {
            return Err(error);
        };
        let login = AuthenticateRequest::new(method.to_owned());
        agent.send_request(login).block_task().await?;
        agent.send_request(request()?).block_task().await
    }

    /// Selects the mode in which the agent can work without a person.
    async fn select_mode(
        &self,
        agent: &ConnectionTo<Agent>,
        session: &SessionId,
        modes: Option<SessionModeState>,
        options: &[SessionConfigOption],
    ) -> Result<(), Error> {
        let preferred = self.program.preferred_modes(self.request);
        if let Some(modes) = modes {
            let mut offered = preferred.iter().filter_map(|preferred| {
                let mut ids = modes.available_modes.iter().map(|mode| &mode.id);
                ids.find(|id| model::is_mode(&id.0, preferred))
            });
            if let Some(mode) = offered.next()
                && modes.current_mode_id != *mode
            {
                let request = SetSessionModeRequest::new(session.clone(), mode.clone());
                agent.send_request(request).block_task().await?;
            }
        } else if let Some(request) = model::select_mode_option(session, options, preferred) {
            agent.send_request(request).block_task().await?;
        }
        Ok(())
    }

    async fn run_unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.cancel.run_until_cancelled(work).await
    }
}

/// Sends the request for a model or an effort. The options may change with the model.
async fn request_option(
    agent: &ConnectionTo<Agent>,
    session: &SessionId,
    request: OptionRequest,
    options: &mut Vec<SessionConfigOption>,
) -> Result<(), Error> {
    match request {
        OptionRequest::None => {}
        OptionRequest::Option(request) => {
            let changed = agent.send_request(request).block_task().await?;
            if !changed.config_options.is_empty() {
                *options = changed.config_options;
            }
        }
        OptionRequest::Model(model) => {
            let params = json!({"sessionId": session, "modelId": model});
            let request = UntypedMessage::new("session/set_model", params)?;
            agent.send_request(request).block_task().await?;
        }
    }
    Ok(())
}

/// Whether an update reports that the cost of the session has reached the cap. The cap is the
/// run's; spending between two updates cannot be prevented.
fn reaches_cost_limit(cap: Option<MicroUsd>, update: &SessionUpdate) -> bool {
    let SessionUpdate::UsageUpdate(usage) = update else {
        return false;
    };
    let dollars = usage.cost.as_ref().filter(|cost| cost.currency == "USD");
    let spent = dollars.and_then(|cost| MicroUsd::from_usd(cost.amount));
    matches!((spent, cap), (Some(spent), Some(cap)) if spent >= cap)
}

/// The error for an agent that does not get a file. A missing file has its own error: agents look
/// for a file before they create it.
fn file_error(why: &FileRequestError) -> Error {
    let message = why.to_string();
    match why {
        FileRequestError::File(FileError::Missing(_)) => {
            agent_client_protocol::v1::schema::Error::resource_not_found(Some(message)).into()
        }
        _ => Error::invalid_params().data(message),
    }
}
