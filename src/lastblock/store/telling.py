"""The part of a store that takes tokens: who has one need not know the bandit."""

from abc import abstractmethod
from typing import Any

from lastblock.live.bandit import Bandit
from lastblock.live.tokens import TokenMaker
from lastblock.store.creating import CreatesBandits
from lastblock.support.errors import TokenError, short


class TakesTokens(CreatesBandits):
    """The part of a store that takes the tokens of its decisions."""

    _tokens: TokenMaker

    @abstractmethod
    def _name_of(self, number: int) -> str | None:
        """Return the name of the bandit with this number; None if there is none."""

    def read_token(self, token: str) -> tuple[int, int]:
        """Return the number of the bandit that made a token, and the id of the decision.

        Parameters
        ----------
        token
            The `token` of a decision.

        Raises
        ------
        TokenError
            If the token is damaged or forged, or of another store.
        """
        return self._tokens.read(token)

    def name_of(self, number: int) -> str | None:
        """Return the name of the bandit with this number; None if it was deleted.

        Parameters
        ----------
        number
            The number, as `read_token` returns it.
        """
        return self._name_of(number)

    def bandit_of(self, token: str) -> Bandit[Any]:
        """Open the bandit that made a token; its methods take the token as a decision.

        Parameters
        ----------
        token
            The `token` of a decision.

        Raises
        ------
        TokenError
            If the token is damaged or forged, of another store, or of a bandit that was deleted.
        BanditInUseError
            If another process has the bandit open, or another store of this one.
        """
        number, _ = self._tokens.read(token)
        name = self._name_of(number)
        if name is None:
            raise TokenError(
                f"the token {short(token)} is of a bandit that was deleted; drop its reward"
            )
        return self.bandit(name)

    def tell(self, token: str, reward: float, *, key: str | None = None) -> None:
        """Learn the reward of a decision of any bandit in the store, given by its token.

        Parameters
        ----------
        token
            The `token` of a decision. It may be told again: with the same reward this does nothing.
        reward, key
            As for `Bandit.tell`.

        Raises
        ------
        TokenError, BanditInUseError
            As for `bandit_of`.
        SettledDecisionError, ValueError
            As for `Bandit.tell`.
        """
        self.bandit_of(token).tell(token, reward, key=key)
