"""Operations shared by the SQL archives."""
